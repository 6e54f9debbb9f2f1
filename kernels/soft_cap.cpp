// SPDX-License-Identifier: Apache-2.0
#include "kernels/soft_cap.hpp"

#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/soft_cap.cpp"
#include "hwy/foreach_target.h"

#include "kernels/lane_functions.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

void forward_rows(matrix x, float cap, std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t)
    for (std::int64_t j = 0; j < x.cols; j += 16) {
      const std::int64_t n = HWY_MIN(x.cols - j, 16);
      const lanes v = mul(load_n(x.row(t) + j, n), set(1 / cap));
      store_n(mul(hyperbolic_tangent(v), set(cap)), x.row(t) + j, n);
    }
}

void backward_rows(const_matrix y, float cap, matrix dx, std::int64_t begin,
                   std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t)
    for (std::int64_t j = 0; j < y.cols; j += 16) {
      const std::int64_t n = HWY_MIN(y.cols - j, 16);
      const lanes v = mul(load_n(y.row(t) + j, n), set(1 / cap));
      store_n(mul(load_n(dx.row(t) + j, n), fnma(v, v, set(1))), dx.row(t) + j,
              n);
    }
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

HWY_EXPORT(forward_rows);
HWY_EXPORT(backward_rows);

void soft_cap(matrix x, float cap, thread_pool& pool) {
  in_parallel(pool, x.rows, 1, x.rows * x.cols,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(forward_rows)(x, cap, begin, end);
              });
}

void soft_cap_grad(const_matrix y, float cap, matrix dx, thread_pool& pool) {
  in_parallel(pool, y.rows, 1, y.rows * y.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(backward_rows)(y, cap, dx, begin, end);
              });
}

} // namespace troupe::kernels
#endif
