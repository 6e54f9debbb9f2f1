// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.hpp"

#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear.cpp"
#include "hwy/foreach_target.h"

#include "kernels/tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

/// Outputs [begin, end) of all rows.
void linear_columns(const_matrix x, const_matrix w, const float* bias, matrix y,
                    std::int64_t begin, std::int64_t end) {
  dot_block(x.data, x.stride, x.rows, w.row(begin), w.stride, end - begin,
            x.cols, bias == nullptr ? nullptr : bias + begin, y.data + begin,
            y.stride);
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

HWY_EXPORT(linear_columns);

void linear(const_matrix x, const_matrix w, const float* bias, matrix y,
            thread_pool& pool) {
  in_parallel(pool, w.rows, 4, 2 * x.rows * w.rows * w.cols / 16,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(linear_columns)
                (x, w, bias, y, begin, end);
              });
}

} // namespace troupe::kernels
#endif
