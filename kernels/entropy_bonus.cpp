// SPDX-License-Identifier: Apache-2.0
#include "kernels/entropy_bonus.hpp"

#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/entropy_bonus.cpp"
#include "hwy/foreach_target.h"

#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

/// -p (a + b (log p + entropy)) in every place, + a at the target.
void objective_row(float* logits, std::int64_t size, std::int32_t target,
                   float inverse_temperature, float log_sum_exp, float entropy,
                   float a, float b) {
  const lanes scale = set(inverse_temperature);
  const lanes shift = set(log_sum_exp);
  const lanes floor = set(-128); // p is 0 there; keeps 0 * infinity out
  const lanes slope = set(-b * inverse_temperature);
  const lanes base = set(-(a + b * entropy) * inverse_temperature);
  for (std::int64_t v = 0; v < size; v += 16) {
    const std::int64_t n = HWY_MIN(size - v, 16);
    const lanes d = sub(mul(load_n(logits + v, n), scale), shift);
    const lanes p = exponential(d);
    store_n(mul(p, fma(slope, max(d, floor), base)), logits + v, n);
  }
  logits[target] += a * inverse_temperature;
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace troupe::kernels {

HWY_EXPORT(objective_row);

void token_objective_grad(matrix logits, std::span<const std::int32_t> targets,
                          float temperature, const float* log_sum_exp,
                          const float* entropies,
                          const objective_slopes& slopes, thread_pool& pool) {
  const float inverse = 1.0F / temperature;
  in_parallel(pool, logits.rows, 1, logits.rows * logits.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t t = begin; t < end; ++t) {
                  float* row = logits.row(t);
                  const float a = slopes.of_logprobs[t];
                  const float b = slopes.of_entropies[t];
                  if (a == 0 && b == 0)
                    std::fill_n(row, logits.cols, 0.0F);
                  else
                    HWY_DYNAMIC_DISPATCH(objective_row)
                  (row, logits.cols, targets[static_cast<std::size_t>(t)],
                   inverse, log_sum_exp[t], entropies[t], a, b);
                }
              });
}

} // namespace troupe::kernels
#endif
