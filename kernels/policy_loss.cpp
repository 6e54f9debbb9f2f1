// SPDX-License-Identifier: Apache-2.0
#include "kernels/policy_loss.hpp"

#include "kernels/scalar_math.hpp"

#include <algorithm>

namespace troupe::kernels {

policy_loss_sums policy_loss(std::span<const float> new_logprobs,
                             std::span<const float> old_logprobs,
                             std::span<const float> reference_logprobs,
                             std::span<const float> advantages,
                             std::span<const float> weights,
                             const policy_loss_settings& settings,
                             std::span<float> coefficients) {
  policy_loss_sums sums;
  const double low = 1 - double{settings.clip_low};
  const double high = 1 + double{settings.clip_high};
  const double beta = double{settings.kl_coefficient};
  for (std::size_t t = 0; t < new_logprobs.size(); ++t) {
    const double weight = double{weights[t]};
    coefficients[t] = 0;
    if (weight == 0)
      continue;
    const double logprob = double{new_logprobs[t]};
    const double advantage = double{advantages[t]};
    const double ratio = exp_of(logprob - double{old_logprobs[t]});
    const bool is_low = ratio < low && advantage < 0;
    const bool is_high = ratio > high && advantage > 0;
    sums.num_clipped_low += is_low ? 1 : 0;
    sums.num_clipped_high += is_high ? 1 : 0;
    // Where the clip binds, the objective is flat; elsewhere the minimum is
    // the unclipped term. NaN compares false, so it reaches the loss.
    double loss = 0;
    double slope = 0;
    if (is_low || is_high) {
      loss = -(is_low ? low : high) * advantage;
    } else {
      loss = -ratio * advantage;
      slope = loss;
    }
    if (beta != 0) {
      const double gap = double{reference_logprobs[t]} - logprob;
      const double kl = exp_minus_line(gap);
      sums.kl += weight * kl;
      loss += beta * kl;
      slope += beta * (1 - exp_of(gap));
    }
    sums.loss += weight * loss;
    coefficients[t] = static_cast<float>(weight * slope);
  }
  return sums;
}

} // namespace troupe::kernels
