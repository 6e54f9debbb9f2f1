// SPDX-License-Identifier: Apache-2.0
//
// The small product that linear and attention are made of, held in registers:
// sums along contiguous rows in 16 lanes and a tree. Each element has its own
// order of summation, so how elements are tiled leaves no trace.
#if defined(TROUPE_KERNELS_DOT_TILES) == defined(HWY_TARGET_TOGGLE)
#ifdef TROUPE_KERNELS_DOT_TILES
#undef TROUPE_KERNELS_DOT_TILES
#else
#define TROUPE_KERNELS_DOT_TILES
#endif

#include "kernels/lanes.hpp"

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {

// Accumulators fill most of the registers: 24 of 32, 12 of 16.
#if HWY_TARGET == HWY_AVX3
constexpr int dot_rows = 4, dot_cols = 6;
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
constexpr int dot_rows = 3, dot_cols = 2;
#else
constexpr int dot_rows = 2, dot_cols = 2;
#endif

/// One tile of a product: y[m][n] = dot(x[m], w[n]) over k < size.
struct dot_work {
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  const float* w = nullptr;
  std::int64_t w_stride = 0;
  std::int64_t size = 0;
  const float* bias = nullptr; ///< null, or added at the end
  float* y = nullptr;
  std::int64_t y_stride = 0;
  const float* next = nullptr; ///< what to fetch meanwhile
  float* carry = nullptr;      ///< [M][N][16] sums between parts of k
  bool is_first = true;        ///< else go on from carry
  bool is_last = true;         ///< else leave the sums in carry
};

#if HWY_TARGET == HWY_AVX3
/// finish_tile for 4 by 6: block m of a register holds what belongs to row m.
HWY_INLINE void finish_4_by_6(const lanes (&total)[4][6], const dot_work& t) {
  const hn::Full128<float> quad;
  const auto blocks = [&](int n) HWY_ATTR {
    return quarters(total[0][n], total[1][n], total[2][n], total[3][n]);
  };
  // In each block: the four quarters of two columns to the halves of both.
  const auto halves = [](reg a, reg b) HWY_ATTR {
    const hn::Repartition<double, reg_tag> wide;
    const auto a_wide = hn::BitCast(wide, a);
    const auto b_wide = hn::BitCast(wide, b);
    return hn::Add(
      hn::BitCast(reg_tag(), hn::InterleaveLower(wide, a_wide, b_wide)),
      hn::BitCast(reg_tag(), hn::InterleaveUpper(wide, a_wide, b_wide)));
  };
  const auto sums = [](reg a, reg b) HWY_ATTR {
    return hn::Add(reg{_mm512_shuffle_ps(a.raw, b.raw, 0x88)},
                   reg{_mm512_shuffle_ps(a.raw, b.raw, 0xDD)});
  };
  reg first = sums(halves(blocks(0), blocks(1)), halves(blocks(2), blocks(3)));
  const reg pair = halves(blocks(4), blocks(5));
  reg last = sums(pair, pair);
  if (t.bias != nullptr) {
    first = hn::Add(first, hn::LoadDup128(reg_tag(), t.bias));
    alignas(16) const float two[4] = {t.bias[4], t.bias[5]};
    last = hn::Add(last, hn::LoadDup128(reg_tag(), two));
  }
  alignas(64) float rows[32];
  hn::Store(first, reg_tag(), rows);
  hn::Store(last, reg_tag(), rows + 16);
  HWY_UNROLL(4)
  for (int m = 0; m < 4; ++m) {
    float* y = t.y + m * t.y_stride;
    hn::StoreU(hn::Load(quad, rows + 4 * m), quad, y);
    std::memcpy(y + 4, rows + 16 + 4 * m, 2 * sizeof(float));
  }
}
#endif

template <int M, int N>
HWY_INLINE void finish_tile(const lanes (&total)[M][N], const dot_work& t) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (M == 4 && N == 6)
    return finish_4_by_6(total, t);
  const hn::Full128<float> quad;
  HWY_UNROLL(8)
  for (int m = 0; m < M && N >= 4; ++m) {
    auto four = sum_each(total[m][0], total[m][1], total[m][2], total[m][3]);
    if (t.bias != nullptr)
      four = hn::Add(four, hn::LoadU(quad, t.bias));
    hn::StoreU(four, quad, t.y + m * t.y_stride);
  }
  constexpr int first = N / 4 * 4;
#else
  constexpr int first = 0;
#endif
  HWY_UNROLL(8)
  for (int m = 0; m < M; ++m)
    HWY_UNROLL(8)
  for (int n = first; n < N; ++n) {
    const float s = sum(total[m][n]);
    t.y[m * t.y_stride + n] = t.bias == nullptr ? s : s + t.bias[n];
  }
}

/// Fetches `Lines` cache lines of `next` in each step. Not inlined: its loop
/// needs all registers.
template <int M, int N, int Lines>
HWY_NOINLINE void dot_tile(const dot_work& t) {
  lanes total[M][N];
  HWY_UNROLL(8)
  for (int m = 0; m < M; ++m)
    HWY_UNROLL(8)
  for (int n = 0; n < N; ++n)
    total[m][n] = t.is_first ? set(0) : load(t.carry + (m * N + n) * 16);
  // Two pointers for each operand: rows i and 3 + i at i times the stride.
  const std::int64_t x_stride = t.x_stride;
  const std::int64_t w_stride = t.w_stride;
  const float* x = t.x;
  const float* x_3 = x + 3 * x_stride;
  const float* w = t.w;
  const float* w_3 = w + 3 * w_stride;
  const float* next = t.next;
  const std::int64_t tail = t.size % 16;
  for (const float* end = x + (t.size - tail); x != end;
       x += 16, x_3 += 16, w += 16, w_3 += 16) {
    HWY_UNROLL(8)
    for (int i = 0; i < Lines; ++i)
      __builtin_prefetch(next + i * 16, 0, 2);
    next += Lines * 16;
    if constexpr (M >= N) {
      lanes rows[M];
      HWY_UNROLL(8)
      for (int m = 0; m < M; ++m)
        rows[m] = load(m < 3 ? x + m * x_stride : x_3 + (m - 3) * x_stride);
      HWY_UNROLL(8)
      for (int n = 0; n < N; ++n) {
        const lanes col =
          load(n < 3 ? w + n * w_stride : w_3 + (n - 3) * w_stride);
        HWY_UNROLL(8)
        for (int m = 0; m < M; ++m)
          total[m][n] = fma(rows[m], col, total[m][n]);
      }
    } else {
      lanes cols[N];
      HWY_UNROLL(8)
      for (int n = 0; n < N; ++n)
        cols[n] = load(n < 3 ? w + n * w_stride : w_3 + (n - 3) * w_stride);
      HWY_UNROLL(8)
      for (int m = 0; m < M; ++m) {
        const lanes row =
          load(m < 3 ? x + m * x_stride : x_3 + (m - 3) * x_stride);
        HWY_UNROLL(8)
        for (int n = 0; n < N; ++n)
          total[m][n] = fma(row, cols[n], total[m][n]);
      }
    }
  }
  if (tail > 0) {
    lanes rows[M];
    HWY_UNROLL(8)
    for (int m = 0; m < M; ++m)
      rows[m] = load_n(x + m * x_stride, tail);
    HWY_UNROLL(8)
    for (int n = 0; n < N; ++n) {
      const lanes col = load_n(w + n * w_stride, tail);
      HWY_UNROLL(8)
      for (int m = 0; m < M; ++m)
        total[m][n] = fma(rows[m], col, total[m][n]);
    }
  }
  if (t.is_last) {
    finish_tile<M, N>(total, t);
    return;
  }
  HWY_UNROLL(8)
  for (int m = 0; m < M; ++m)
    HWY_UNROLL(8)
  for (int n = 0; n < N; ++n)
    store(total[m][n], t.carry + (m * N + n) * 16);
}

/// dot_tile for `height` <= dot_rows rows.
template <int N, int Lines>
HWY_INLINE void dot_tile_of(std::int64_t height, const dot_work& t) {
#define TROUPE_CASE(M)                                                         \
  case M:                                                                      \
    if constexpr (M <= dot_rows)                                               \
      dot_tile<M, N, Lines>(t);                                                \
    break;
  switch (height) {
    TROUPE_CASE(1)
    TROUPE_CASE(2)
    TROUPE_CASE(3)
    TROUPE_CASE(4)
  default: break;
  }
#undef TROUPE_CASE
}

/// Columns [n, n + N) of dot_block.
template <int N>
HWY_INLINE void dot_columns(dot_work t, std::int64_t num_rows, std::int64_t n,
                            std::int64_t part) {
  const float* x = t.x;
  float* y = t.y + n;
  float* carry = t.carry;
  const std::int64_t size = t.size;
  const std::int64_t num_tiles = (num_rows + dot_rows - 1) / dot_rows;
  t.bias = t.bias == nullptr ? nullptr : t.bias + n;
  const bool is_fetching = N == dot_cols && t.next != nullptr;
  t.next = t.w + (n + N) * t.w_stride;
  const float* next_end = t.next + N * t.w_stride;
  for (std::int64_t k = 0; k == 0 || k < size; k += part) {
    t.w += k == 0 ? n * t.w_stride : part;
    t.size = HWY_MIN(part, size - k);
    t.is_first = k == 0;
    t.is_last = k + part >= size;
    for (std::int64_t i = 0; i < num_tiles; ++i) {
      // Tiles of nearly equal height: 5 rows are 3 + 2, not 4 + 1.
      const std::int64_t m = num_rows * i / num_tiles;
      const std::int64_t height = num_rows * (i + 1) / num_tiles - m;
      t.x = x + m * t.x_stride + k;
      t.y = y + m * t.y_stride;
      t.carry = carry + i * dot_rows * dot_cols * 16;
      if (!is_fetching || t.next >= next_end) {
        dot_tile_of<N, 0>(height, t);
      } else if (num_tiles < 2) {
        dot_tile_of<N, N>(height, t);
        t.next += N * t.size;
      } else if (num_tiles < 6) {
        dot_tile_of<N, (N + 1) / 2>(height, t);
        t.next += (N + 1) / 2 * t.size;
      } else {
        dot_tile_of<N, 1>(height, t);
        t.next += t.size;
      }
    }
  }
}

/// y = w x^T (+ bias) for x [num_rows, size] and w [num_cols, size], given in
/// `t`: for rows of x that a near cache holds, while w passes by once. `part`,
/// a multiple of 16, bounds what is summed at once; if size is larger, t.carry
/// has 16 floats for each tile's sum.
inline void dot_block(dot_work t, std::int64_t num_rows, std::int64_t num_cols,
                      std::int64_t part) {
  // Not worth fetching ahead: 256 KiB stay in the second cache.
  t.next = num_cols * t.size < 64 * 1024 ? nullptr : t.w;
  std::int64_t n = 0;
  for (; n + dot_cols <= num_cols; n += dot_cols)
    dot_columns<dot_cols>(t, num_rows, n, part);
  for (; n < num_cols; ++n)
    dot_columns<1>(t, num_rows, n, part);
}

} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
