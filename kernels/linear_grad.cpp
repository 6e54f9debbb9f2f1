// SPDX-License-Identifier: Apache-2.0
#include "kernels/gradient_scratch.hpp"
#include "kernels/linear.hpp"
#include "kernels/parallel.hpp"
#include "kernels/scratch.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_grad.cpp"
#include "hwy/foreach_target.h"

#include "kernels/outer_tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

constexpr std::int64_t panel_width = 16 * outer_lanes;

/// t.b [size, cols] as panels [panel][s][panel_width]; a tile then reads one
/// short stretch of memory, whatever the stride.
void pack_panels(const outer_work& t, float* packed) {
  for (std::int64_t s = 0; s < t.size; ++s) {
    const float* from = t.b + s * t.b_stride;
    for (std::int64_t k = 0; k < t.cols; k += panel_width) {
      float* to = packed + k * t.size + s * panel_width;
      const std::int64_t width = HWY_MIN(panel_width, t.cols - k);
      for (std::int64_t v = 0; v < width; v += 16)
        store(load_n(from + k + v, HWY_MIN(width - v, 16)), to + v);
    }
  }
}

/// Columns of t.a, as rows [s][outer_rows] of each tile.
void pack_factor(const outer_work& t, std::int64_t num_rows, float* packed) {
  for (std::int64_t s = 0; s < t.size; ++s) {
    const float* from = t.a.data + s * t.a.step;
    float* to = packed + s * outer_rows;
    std::int64_t m = 0;
    for (; m + outer_rows <= num_rows; m += outer_rows)
      std::memcpy(to + m * t.size, from + m, outer_rows * sizeof(float));
    for (std::int64_t i = m; i < num_rows; ++i)
      to[m * t.size + i - m] = from[i];
  }
}

/// One block of columns and of s, whose part of b stays in the second cache.
void outer_part(const outer_work& t, std::int64_t num_rows, float* packed_b,
                float* packed_a) {
  constexpr std::int64_t chunk = gradient_scratch::max_rows;
  pack_panels(t, packed_b);
  for (std::int64_t m = 0; m < num_rows; m += outer_rows) {
    outer_work tile = t;
    tile.b_stride = panel_width;
    tile.a.data += m * t.a.row;
    if (t.a.row == 1) {
      if (m % chunk == 0)
        pack_factor(tile, HWY_MIN(chunk, num_rows - m), packed_a);
      tile.a = {packed_a + m % chunk * t.size, 1, outer_rows};
    }
    for (std::int64_t k = 0; k < t.cols; k += panel_width) {
      tile.b = packed_b + k * t.size;
      tile.c = t.c + m * t.c_stride + k;
      tile.cols = HWY_MIN(t.cols - k, panel_width);
      outer_rows_of(tile, HWY_MIN(num_rows - m, outer_rows));
    }
  }
}

/// The whole product; `memory` has room for gradient_scratch::floats.
void outer_product(const outer_work& t, std::int64_t num_rows, float* memory) {
  constexpr std::int64_t width = gradient_scratch::max_cols;
  for (std::int64_t k = 0; k < t.cols; k += width) {
    outer_work part = t;
    part.cols = HWY_MIN(width, t.cols - k);
    part.c += k;
    const std::int64_t steps = gradient_scratch::steps(part.cols);
    for (std::int64_t s = 0; s < t.size; s += steps) {
      part.a.data = t.a.data + s * t.a.step;
      part.b = t.b + s * t.b_stride + k;
      part.size = HWY_MIN(steps, t.size - s);
      part.mode = s == 0 ? t.mode : onto::resume;
      outer_part(part, num_rows, memory, memory + gradient_scratch::max_panels);
    }
  }
}

/// A block of dx.
void input_block(const_matrix dy, const_matrix w, matrix dx, into mode,
                 float* memory) {
  outer_work t;
  t.a = {dy.data, dy.stride, 1};
  t.b = w.data;
  t.b_stride = w.stride;
  t.size = w.rows;
  t.c = dx.data;
  t.c_stride = dx.stride;
  t.cols = dx.cols;
  t.mode = mode == into::add ? onto::resume : onto::overwrite;
  outer_product(t, dx.rows, memory);
}

/// A block of dw.
void weight_block(const_matrix dy, const_matrix x, matrix dw, float* memory) {
  outer_work t;
  t.a = {dy.data, 1, dy.stride};
  t.b = x.data;
  t.b_stride = x.stride;
  t.size = x.rows;
  t.c = dw.data;
  t.c_stride = dw.stride;
  t.cols = dw.cols;
  t.mode = onto::resume;
  outer_product(t, dw.rows, memory);
}

/// Columns [begin, end) of dbias.
void bias_columns(const_matrix dy, float* dbias, std::int64_t begin,
                  std::int64_t end) {
  for (std::int64_t n = begin; n < end; n += 16) {
    const std::int64_t count = HWY_MIN(end - n, 16);
    lanes total = load_n(dbias + n, count);
    for (std::int64_t t = 0; t < dy.rows; ++t)
      total = add(total, load_n(dy.row(t) + n, count));
    store_n(total, dbias + n, count);
  }
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

HWY_EXPORT(input_block);
HWY_EXPORT(weight_block);
HWY_EXPORT(bias_columns);

namespace {

/// Calls f with blocks of rows or of columns of a [rows, cols] result, one a
/// thread: columns, so that no thread packs what another does, if there are
/// enough panels, or too few rows to pay for packing twice.
template <class Function>
void over_blocks(matrix result, std::int64_t depth, thread_pool& pool,
                 const Function& f) {
  constexpr std::int64_t panel = 48;
  const std::int64_t num_panels = result.cols / panel;
  const bool by_columns =
    num_panels >= 4 * pool.num_threads()
    || (result.cols % panel == 0 && num_panels % pool.num_threads() == 0)
    || result.rows < 32 * pool.num_threads();
  in_parallel(pool, by_columns ? result.cols : result.rows,
              by_columns ? panel : 8, result.rows * result.cols * depth / 50,
              [&](std::int64_t begin, std::int64_t end) {
                const std::int64_t cols =
                  by_columns ? end - begin : result.cols;
                scratch memory(gradient_scratch::floats);
                float* packed = memory.take(gradient_scratch::floats);
                if (by_columns)
                  f(0, result.rows, begin, cols, packed);
                else
                  f(begin, end - begin, 0, cols, packed);
              });
}

} // namespace

void linear_grad_input(const_matrix dy, const_matrix w, matrix dx, into mode,
                       thread_pool& pool) {
  over_blocks(dx, w.rows, pool,
              [&](std::int64_t t, std::int64_t rows, std::int64_t k,
                  std::int64_t cols, float* memory) {
                HWY_DYNAMIC_DISPATCH(input_block)
                ({dy.row(t), rows, dy.cols, dy.stride},
                 {w.data + k, w.rows, cols, w.stride},
                 {dx.row(t) + k, rows, cols, dx.stride}, mode, memory);
              });
}

void linear_grad_weight(const_matrix dy, const_matrix x, matrix dw,
                        thread_pool& pool) {
  over_blocks(dw, x.rows, pool,
              [&](std::int64_t n, std::int64_t rows, std::int64_t k,
                  std::int64_t cols, float* memory) {
                HWY_DYNAMIC_DISPATCH(weight_block)
                ({dy.data + n, dy.rows, rows, dy.stride},
                 {x.data + k, x.rows, cols, x.stride},
                 {dw.row(n) + k, rows, cols, dw.stride}, memory);
              });
}

void linear_grad_bias(const_matrix dy, float* dbias, thread_pool& pool) {
  in_parallel(pool, dy.cols, 16, dy.rows * dy.cols / 4,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(bias_columns)(dy, dbias, begin, end);
              });
}

} // namespace troupe::kernels
#endif
