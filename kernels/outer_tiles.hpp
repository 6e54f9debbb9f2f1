// SPDX-License-Identifier: Apache-2.0
//
// The small product that gradients and attention are made of, held in
// registers: one outer product after the other is added. Each element has its
// own order of summation, so how elements are tiled leaves no trace.
#if defined(TROUPE_KERNELS_OUTER_TILES) == defined(HWY_TARGET_TOGGLE)
#ifdef TROUPE_KERNELS_OUTER_TILES
#undef TROUPE_KERNELS_OUTER_TILES
#else
#define TROUPE_KERNELS_OUTER_TILES
#endif

#include "kernels/lanes.hpp"

#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {

// Accumulators fill most of the registers: 24 of 32, 12 of 16.
#if HWY_TARGET == HWY_AVX3
constexpr int outer_rows = 8, outer_lanes = 3;
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
constexpr int outer_rows = 6, outer_lanes = 1;
#else
constexpr int outer_rows = 2, outer_lanes = 1;
#endif

/// What an outer product does with c: replaces it, or goes on from it as the
/// value before the first s.
enum class onto { overwrite, resume };

/// A view of a factor: element (m, s) is data[m * row + s * step].
struct factor {
  const float* data = nullptr;
  std::int64_t row = 0;
  std::int64_t step = 0;
};

/// c [num_rows, cols] from a b: c[m][k] is the sum over rising s < size of
/// a(m, s) b[s][k].
struct outer_work {
  factor a;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  std::int64_t size = 0;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  std::int64_t cols = 0;
  onto mode = onto::overwrite;
};

/// M rows and 16 (V - 1) < cols <= 16 V columns. Not inlined: its loop needs
/// all registers.
template <int M, int V>
HWY_NOINLINE void outer_tile(const outer_work& t) {
  constexpr int last = V - 1;
  lanes total[M][V];
  const std::int64_t tail = t.cols - 16 * last;
  HWY_UNROLL(8)
  for (int m = 0; m < M; ++m)
    HWY_UNROLL(4)
  for (int v = 0; v < V; ++v)
    total[m][v] =
      t.mode == onto::overwrite
        ? set(0)
        : load_n(t.c + m * t.c_stride + 16 * v, v < last ? 16 : tail);
  // Three pointers to a: rows i, 3 + i and 6 + i at i times the stride.
  const std::int64_t a_row = t.a.row;
  const float* a = t.a.data;
  const float* a_3 = a + 3 * a_row;
  const float* a_6 = a + 6 * a_row;
  const float* b = t.b;
  const auto add_step = [&](const lanes(&row)[V]) HWY_ATTR {
    HWY_UNROLL(8)
    for (int m = 0; m < M; ++m) {
      const lanes scale =
        set(m < 3 ? a[m * a_row]
                  : (m < 6 ? a_3[(m - 3) * a_row] : a_6[(m - 6) * a_row]));
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v)
        total[m][v] = fma(scale, row[v], total[m][v]);
    }
    a += t.a.step;
    a_3 += t.a.step;
    a_6 += t.a.step;
    b += t.b_stride;
  };
  if (tail == 16) {
    for (std::int64_t s = 0; s < t.size; ++s) {
      lanes row[V];
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v)
        row[v] = load(b + 16 * v);
      add_step(row);
    }
  } else {
    for (std::int64_t s = 0; s < t.size; ++s) {
      lanes row[V];
      HWY_UNROLL(4)
      for (int v = 0; v < last; ++v)
        row[v] = load(b + 16 * v);
      row[last] = load_n(b + 16 * last, tail);
      add_step(row);
    }
  }
  HWY_UNROLL(8)
  for (int m = 0; m < M; ++m)
    HWY_UNROLL(4)
  for (int v = 0; v < V; ++v)
    store_n(total[m][v], t.c + m * t.c_stride + 16 * v, v < last ? 16 : tail);
}

/// M rows and at most 16 outer_lanes columns.
template <int M>
HWY_INLINE void outer_tile_of(const outer_work& t) {
  if (t.cols > 16 * (outer_lanes - 1))
    return outer_tile<M, outer_lanes>(t);
  if constexpr (outer_lanes > 2)
    if (t.cols > 16)
      return outer_tile<M, 2>(t);
  if constexpr (outer_lanes > 1)
    outer_tile<M, 1>(t);
}

/// `height` <= outer_rows rows: 8, or what is left in fours, twos and one.
HWY_INLINE void outer_rows_of(outer_work t, std::int64_t height) {
  const auto run = [&](auto rows) HWY_ATTR {
    constexpr int M = decltype(rows)::value;
    if constexpr (M <= outer_rows)
      for (; height >= M; height -= M) {
        outer_tile_of<M>(t);
        t.a.data += M * t.a.row;
        t.c += M * t.c_stride;
      }
  };
  run(std::integral_constant<int, 8>());
  run(std::integral_constant<int, 6>());
  run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, 2>());
  run(std::integral_constant<int, 1>());
}

/// All rows and columns, tile by tile, from b as it lies.
inline void outer_block(const outer_work& t, std::int64_t num_rows) {
  constexpr std::int64_t width = 16 * outer_lanes;
  for (std::int64_t m = 0; m < num_rows; m += outer_rows) {
    outer_work tile = t;
    tile.a.data += m * t.a.row;
    for (std::int64_t k = 0; k < t.cols; k += width) {
      tile.b = t.b + k;
      tile.c = t.c + m * t.c_stride + k;
      tile.cols = HWY_MIN(t.cols - k, width);
      outer_rows_of(tile, HWY_MIN(num_rows - m, outer_rows));
    }
  }
}

} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
