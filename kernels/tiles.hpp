// SPDX-License-Identifier: Apache-2.0
//
// The two small products that all matrix kernels and attention are made of,
// held in registers. dot_block sums along contiguous rows in 16 lanes and a
// tree; outer_block adds one outer product after the other. Each element has
// its own order of summation, so how elements are tiled leaves no trace.
#if defined(TROUPE_KERNELS_TILES) == defined(HWY_TARGET_TOGGLE)
#ifdef TROUPE_KERNELS_TILES
#undef TROUPE_KERNELS_TILES
#else
#define TROUPE_KERNELS_TILES
#endif

#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {

// Accumulators fill most of the registers: 24 of 32, 12 of 16.
#if HWY_TARGET == HWY_AVX3
constexpr int dot_rows = 6, dot_cols = 4;
constexpr int outer_rows = 8, outer_lanes = 3;
#elif HWY_TARGET == HWY_AVX2
constexpr int dot_rows = 3, dot_cols = 2;
constexpr int outer_rows = 6, outer_lanes = 1;
#elif HWY_TARGET == HWY_NEON
constexpr int dot_rows = 3, dot_cols = 2;
constexpr int outer_rows = 6, outer_lanes = 1;
#else
constexpr int dot_rows = 2, dot_cols = 2;
constexpr int outer_rows = 2, outer_lanes = 1;
#endif

/// y[m][n] = dot(x[m], w[n]) (+ bias[n]) for m < M, n < N over k < size.
template <int M, int N>
HWY_INLINE void dot_tile(const float* x, std::int64_t x_stride, const float* w,
                         std::int64_t w_stride, std::int64_t size,
                         const float* bias, float* y, std::int64_t y_stride) {
  lanes total[M][N];
  HWY_UNROLL(8)
  for (int m = 0; m < M; ++m) HWY_UNROLL(8) for (int n = 0; n < N; ++n)
    total[m][n] = set(0);
  std::int64_t k = 0;
  for (; k + 16 <= size; k += 16) {
    lanes rows[M];
    HWY_UNROLL(8)
    for (int m = 0; m < M; ++m) rows[m] = load(x + m * x_stride + k);
    HWY_UNROLL(8) for (int n = 0; n < N; ++n) {
      const lanes col = load(w + n * w_stride + k);
      HWY_UNROLL(8)
      for (int m = 0; m < M; ++m) total[m][n] = fma(rows[m], col, total[m][n]);
    }
  }
  if (k < size) {
    lanes rows[M];
    HWY_UNROLL(8)
    for (int m = 0; m < M; ++m) rows[m] =
      load_n(x + m * x_stride + k, size - k);
    HWY_UNROLL(8) for (int n = 0; n < N; ++n) {
      const lanes col = load_n(w + n * w_stride + k, size - k);
      HWY_UNROLL(8)
      for (int m = 0; m < M; ++m) total[m][n] = fma(rows[m], col, total[m][n]);
    }
  }
  HWY_UNROLL(8)
  for (int m = 0; m < M; ++m) HWY_UNROLL(8) for (int n = 0; n < N; ++n) {
    const float s = sum(total[m][n]);
    y[m * y_stride + n] = bias == nullptr ? s : s + bias[n];
  }
}

/// num_rows in [1, dot_rows] rows of x against num_cols rows of w.
template <int M>
void dot_rows_tile(const float* x, std::int64_t x_stride, const float* w,
                   std::int64_t w_stride, std::int64_t num_cols,
                   std::int64_t size, const float* bias, float* y,
                   std::int64_t y_stride) {
  std::int64_t n = 0;
  for (; n + dot_cols <= num_cols; n += dot_cols)
    dot_tile<M, dot_cols>(x, x_stride, w + n * w_stride, w_stride, size,
                          bias == nullptr ? nullptr : bias + n, y + n,
                          y_stride);
  for (; n < num_cols; ++n)
    dot_tile<M, 1>(x, x_stride, w + n * w_stride, w_stride, size,
                   bias == nullptr ? nullptr : bias + n, y + n, y_stride);
}

/// y = x w^T (+ bias), x [num_rows, size], w [num_cols, size].
HWY_INLINE void dot_block(const float* x, std::int64_t x_stride,
                          std::int64_t num_rows, const float* w,
                          std::int64_t w_stride, std::int64_t num_cols,
                          std::int64_t size, const float* bias, float* y,
                          std::int64_t y_stride) {
  // Tiles of nearly equal height: 8 rows are 4 + 4, not 6 + 2.
  const std::int64_t num_tiles = (num_rows + dot_rows - 1) / dot_rows;
  for (std::int64_t i = 0; i < num_tiles; ++i) {
    const std::int64_t m = num_rows * i / num_tiles;
    const std::int64_t height = num_rows * (i + 1) / num_tiles - m;
    const float* x_m = x + m * x_stride;
    float* y_m = y + m * y_stride;
#define TROUPE_CASE(M)                                                         \
  case M:                                                                      \
    if constexpr (M <= dot_rows)                                               \
      dot_rows_tile<M>(x_m, x_stride, w, w_stride, num_cols, size, bias, y_m,  \
                       y_stride);                                              \
    break;
    switch (height) {
      TROUPE_CASE(1)
      TROUPE_CASE(2)
      TROUPE_CASE(3)
      TROUPE_CASE(4)
      TROUPE_CASE(5)
      TROUPE_CASE(6)
    default: break;
    }
#undef TROUPE_CASE
  }
}

/// What an outer product does with c: replaces it, goes on from it as the
/// value before the first s, or adds the finished sum to it.
enum class onto { overwrite, resume, add };

/// A view of a factor: element (m, s) is data[m * row + s * step].
struct factor {
  const float* data = nullptr;
  std::int64_t row = 0;
  std::int64_t step = 0;
};

/// c[m][k] from the sum over rising s < size of a(m, s) b[s][k], for m < M and
/// for `cols` columns in (16 (V - 1), 16 V].
template <int M, int V>
HWY_INLINE void outer_tile(factor a, const float* b, std::int64_t b_stride,
                           std::int64_t size, float* c, std::int64_t c_stride,
                           std::int64_t cols, onto mode) {
  lanes total[M][V];
  const std::int64_t tail = cols - 16 * (V - 1);
  HWY_UNROLL(8)
  for (int m = 0; m < M; ++m) HWY_UNROLL(4) for (int v = 0; v < V; ++v) {
    const std::int64_t n = v + 1 < V ? 16 : tail;
    total[m][v] =
      mode == onto::resume ? load_n(c + m * c_stride + 16 * v, n) : set(0);
  }
  for (std::int64_t s = 0; s < size; ++s) {
    lanes row[V];
    HWY_UNROLL(4)
    for (int v = 0; v + 1 < V; ++v) row[v] = load(b + s * b_stride + 16 * v);
    row[V - 1] = tail == 16 ? load(b + s * b_stride + 16 * (V - 1))
                            : load_n(b + s * b_stride + 16 * (V - 1), tail);
    HWY_UNROLL(8) for (int m = 0; m < M; ++m) {
      const lanes scale = set(a.data[m * a.row + s * a.step]);
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v) total[m][v] = fma(scale, row[v], total[m][v]);
    }
  }
  HWY_UNROLL(8)
  for (int m = 0; m < M; ++m) HWY_UNROLL(4) for (int v = 0; v < V; ++v) {
    const std::int64_t n = v + 1 < V ? 16 : tail;
    float* to = c + m * c_stride + 16 * v;
    store_n(mode == onto::add ? add(load_n(to, n), total[m][v]) : total[m][v],
            to, n);
  }
}

template <int M>
void outer_rows_tile(factor a, const float* b, std::int64_t b_stride,
                     std::int64_t size, float* c, std::int64_t c_stride,
                     std::int64_t cols, onto mode) {
  constexpr std::int64_t width = 16 * outer_lanes;
  for (std::int64_t k = 0; k < cols; k += width) {
    const std::int64_t n = HWY_MIN(cols - k, width);
    if (n > 16 * (outer_lanes - 1))
      outer_tile<M, outer_lanes>(a, b + k, b_stride, size, c + k, c_stride, n,
                                 mode);
    else if (outer_lanes > 1 && n <= 16)
      outer_tile<M, 1>(a, b + k, b_stride, size, c + k, c_stride, n, mode);
    else if constexpr (outer_lanes > 2)
      outer_tile<M, 2>(a, b + k, b_stride, size, c + k, c_stride, n, mode);
  }
}

/// c [num_rows, cols] from a b, a [num_rows, size], b [size, cols].
HWY_INLINE void outer_block(factor a, std::int64_t num_rows, const float* b,
                            std::int64_t b_stride, std::int64_t size, float* c,
                            std::int64_t c_stride, std::int64_t cols,
                            onto mode) {
  const std::int64_t num_tiles = (num_rows + outer_rows - 1) / outer_rows;
  for (std::int64_t i = 0; i < num_tiles; ++i) {
    const std::int64_t m = num_rows * i / num_tiles;
    const std::int64_t height = num_rows * (i + 1) / num_tiles - m;
    const factor a_m{a.data + m * a.row, a.row, a.step};
    float* c_m = c + m * c_stride;
#define TROUPE_CASE(M)                                                         \
  case M:                                                                      \
    if constexpr (M <= outer_rows)                                             \
      outer_rows_tile<M>(a_m, b, b_stride, size, c_m, c_stride, cols, mode);   \
    break;
    switch (height) {
      TROUPE_CASE(1)
      TROUPE_CASE(2)
      TROUPE_CASE(3)
      TROUPE_CASE(4)
      TROUPE_CASE(5)
      TROUPE_CASE(6)
      TROUPE_CASE(7)
      TROUPE_CASE(8)
    default: break;
    }
#undef TROUPE_CASE
  }
}

} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
