// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax.hpp"

#include "kernels/parallel.hpp"
#include "kernels/softmax_row.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cpp"
#include "hwy/foreach_target.h"

#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

void reduce(const float* logits, std::int64_t size, float inverse_temperature,
            float* exponentials, softmax_row* row) {
  const lanes scale = set(inverse_temperature);
  const float lowest = -std::numeric_limits<float>::infinity();
  lanes maximum = set(lowest);
  std::int64_t v = 0;
  for (; v + 16 <= size; v += 16)
    maximum = max(mul(load(logits + v), scale), maximum);
  maximum = max(mul(load_n(logits + v, size - v, lowest), scale), maximum);
  row->maximum = largest(maximum);

  const lanes top = set(row->maximum);
  const lanes floor = set(-128); // e^x is 0 there; keeps 0 * infinity out
  lanes total = set(0);
  lanes weighted = set(0);
  for (v = 0; v < size; v += 16) {
    const std::int64_t n = HWY_MIN(size - v, 16);
    const lanes x = n == 16 ? load(logits + v) : load_n(logits + v, n, lowest);
    const lanes d = sub(mul(x, scale), top);
    const lanes e = exponential(d);
    total = add(total, e);
    weighted = fma(e, max(d, floor), weighted);
    if (exponentials != nullptr)
      store_n(e, exponentials + v, n);
  }
  row->total = sum(total);
  row->weighted = sum(weighted);
}

void grad_row(float* logits, std::int64_t size, std::int32_t target,
              float inverse_temperature, float log_sum_exp, float coefficient) {
  const lanes scale = set(inverse_temperature);
  const lanes shift = set(log_sum_exp);
  const float factor = coefficient * inverse_temperature;
  const lanes factors = set(-factor);
  for (std::int64_t v = 0; v < size; v += 16) {
    const std::int64_t n = HWY_MIN(size - v, 16);
    const lanes p = exponential(sub(mul(load_n(logits + v, n), scale), shift));
    store_n(mul(p, factors), logits + v, n);
  }
  logits[target] += factor;
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace troupe::kernels {

HWY_EXPORT(reduce);
HWY_EXPORT(grad_row);

softmax_row reduce_row(const float* logits, std::int64_t size,
                       float inverse_temperature, float* exponentials) {
  softmax_row row;
  HWY_DYNAMIC_DISPATCH(reduce)
  (logits, size, inverse_temperature, exponentials, &row);
  return row;
}

void token_logprobs(const_matrix logits, std::span<const std::int32_t> targets,
                    float temperature, float* logprobs, float* entropies,
                    float* log_sum_exp, thread_pool& pool) {
  const float inverse = 1.0F / temperature;
  in_parallel(pool, logits.rows, 1, logits.rows * logits.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t t = begin; t < end; ++t) {
                  const softmax_row row =
                    reduce_row(logits.row(t), logits.cols, inverse, nullptr);
                  const auto target = targets[static_cast<std::size_t>(t)];
                  logprobs[t] = logprob_of(row, logits.row(t)[target], inverse);
                  if (entropies != nullptr)
                    entropies[t] = static_cast<float>(log_of(double{row.total})
                                                      - double{row.weighted}
                                                          / double{row.total});
                  if (log_sum_exp != nullptr)
                    log_sum_exp[t] = static_cast<float>(log_total(row));
                }
              });
}

void token_logprobs_grad(matrix logits, std::span<const std::int32_t> targets,
                         float temperature, const float* log_sum_exp,
                         const float* coefficients, thread_pool& pool) {
  const float inverse = 1.0F / temperature;
  in_parallel(pool, logits.rows, 1, logits.rows * logits.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t t = begin; t < end; ++t) {
                  float* row = logits.row(t);
                  if (coefficients[t] == 0)
                    std::fill_n(row, logits.cols, 0.0F);
                  else
                    HWY_DYNAMIC_DISPATCH(grad_row)
                  (row, logits.cols, targets[static_cast<std::size_t>(t)],
                   inverse, log_sum_exp[t], coefficients[t]);
                }
              });
}

} // namespace troupe::kernels
#endif
