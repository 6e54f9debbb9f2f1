// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.hpp"
#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_grad.cpp"
#include "hwy/foreach_target.h"

#include "kernels/tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

void input_columns(const_matrix dy, const_matrix w, matrix dx, into mode,
                   std::int64_t begin, std::int64_t end) {
  outer_block({dy.data, dy.stride, 1}, dy.rows, w.data + begin, w.stride,
              w.rows, dx.data + begin, dx.stride, end - begin,
              mode == into::add ? onto::resume : onto::overwrite);
}

void weight_rows(const_matrix dy, const_matrix x, matrix dw, std::int64_t begin,
                 std::int64_t end) {
  outer_block({dy.data + begin, 1, dy.stride}, end - begin, x.data, x.stride,
              x.rows, dw.row(begin), dw.stride, x.cols, onto::add);
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

HWY_EXPORT(input_columns);
HWY_EXPORT(weight_rows);

void linear_grad_input(const_matrix dy, const_matrix w, matrix dx, into mode,
                       thread_pool& pool) {
  in_parallel(pool, w.cols, 16, 2 * dy.rows * w.rows * w.cols / 16,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(input_columns)
                (dy, w, dx, mode, begin, end);
              });
}

void linear_grad_weight(const_matrix dy, const_matrix x, matrix dw,
                        thread_pool& pool) {
  in_parallel(pool, dw.rows, 8, 2 * dy.rows * dw.rows * dw.cols / 16,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(weight_rows)(dy, x, dw, begin, end);
              });
}

} // namespace troupe::kernels
#endif
