// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.hpp"

#include "kernels/parallel.hpp"
#include "kernels/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear.cpp"
#include "hwy/foreach_target.h"

#include "kernels/dot_tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

/// Floats of x that stay in the second cache (512 KiB) while w passes by.
constexpr std::int64_t chunk_size = 128 * 1024;
/// What a tile sums at once: its rows of w stay in the first cache (18 KiB).
constexpr std::int64_t part = 768;

std::int64_t rows_of_chunk(std::int64_t size) {
  return HWY_MAX(chunk_size / HWY_MAX(size, 1) / dot_rows, 1) * dot_rows;
}

void carry_size(std::int64_t num_rows, std::int64_t size,
                std::int64_t* floats) {
  *floats = size <= part ? 0
                         : (HWY_MIN(num_rows, rows_of_chunk(size)) + dot_rows)
                             * dot_cols * 16;
}

/// Outputs [begin, end) of all rows.
void linear_columns(const_matrix x, const_matrix w, const float* bias, matrix y,
                    float* carry, std::int64_t begin, std::int64_t end) {
  // Small weights come again at no cost, so that y stays in the first cache.
  const bool is_small = (end - begin) * x.cols < 256 * 1024;
  const std::int64_t chunk =
    is_small ? HWY_MIN(rows_of_chunk(x.cols), 48) : rows_of_chunk(x.cols);
  for (std::int64_t t = 0; t < x.rows; t += chunk) {
    dot_work work;
    work.x = x.row(t);
    work.x_stride = x.stride;
    work.w = w.row(begin);
    work.w_stride = w.stride;
    work.size = x.cols;
    work.bias = bias == nullptr ? nullptr : bias + begin;
    work.y = y.row(t) + begin;
    work.y_stride = y.stride;
    work.carry = carry;
    const std::int64_t num_rows = HWY_MIN(chunk, x.rows - t);
    dot_block(work, num_rows, end - begin,
              num_rows > dot_rows ? part : HWY_MAX(x.cols, 16));
  }
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace troupe::kernels {

HWY_EXPORT(carry_size);
HWY_EXPORT(linear_columns);

void linear(const_matrix x, const_matrix w, const float* bias, matrix y,
            thread_pool& pool) {
  // 100 GFLOP/s, or 32 GB/s of weights: between memory and caches.
  const std::int64_t nanoseconds =
    w.rows * w.cols * std::max<std::int64_t>(x.rows * 2, 12) / 100;
  in_parallel(pool, w.rows, 12, nanoseconds,
              [&](std::int64_t begin, std::int64_t end) {
                std::int64_t size = 0;
                HWY_DYNAMIC_DISPATCH(carry_size)(x.rows, x.cols, &size);
                scratch memory(size);
                HWY_DYNAMIC_DISPATCH(linear_columns)
                (x, w, bias, y, memory.take(size), begin, end);
              });
}

} // namespace troupe::kernels
#endif
