// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu.hpp"

#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/swiglu.cpp"
#include "hwy/foreach_target.h"

#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE lanes sigmoid(lanes x) {
  const lanes one = set(1);
  return div(one, add(one, exponential(sub(set(0), x))));
}

void forward_rows(const_matrix gate, const_matrix up, matrix y,
                  std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t) {
    for (std::int64_t f = 0; f < y.cols; f += 16) {
      const std::int64_t n = HWY_MIN(y.cols - f, 16);
      const lanes g = load_n(gate.row(t) + f, n);
      const lanes u = load_n(up.row(t) + f, n);
      store_n(mul(mul(g, sigmoid(g)), u), y.row(t) + f, n);
    }
  }
}

// With s = sigmoid(g): silu = g s, and its slope is s (1 + g (1 - s)).
void backward_rows(const_matrix dy, const_matrix gate, const_matrix up,
                   matrix dgate, matrix dup, std::int64_t begin,
                   std::int64_t end) {
  const lanes one = set(1);
  for (std::int64_t t = begin; t < end; ++t) {
    for (std::int64_t f = 0; f < dy.cols; f += 16) {
      const std::int64_t n = HWY_MIN(dy.cols - f, 16);
      const lanes d = load_n(dy.row(t) + f, n);
      const lanes g = load_n(gate.row(t) + f, n);
      const lanes u = load_n(up.row(t) + f, n);
      const lanes s = sigmoid(g);
      const lanes slope = mul(s, fma(g, sub(one, s), one));
      store_n(mul(mul(d, u), slope), dgate.row(t) + f, n);
      store_n(mul(d, mul(g, s)), dup.row(t) + f, n);
    }
  }
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

HWY_EXPORT(forward_rows);
HWY_EXPORT(backward_rows);

void swiglu(const_matrix gate, const_matrix up, matrix y, thread_pool& pool) {
  in_parallel(pool, y.rows, 1, y.rows * y.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(forward_rows)(gate, up, y, begin, end);
              });
}

void swiglu_grad(const_matrix dy, const_matrix gate, const_matrix up,
                 matrix dgate, matrix dup, thread_pool& pool) {
  in_parallel(pool, dy.rows, 1, dy.rows * dy.cols,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(backward_rows)
                (dy, gate, up, dgate, dup, begin, end);
              });
}

} // namespace troupe::kernels
#endif
