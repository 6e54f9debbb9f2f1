// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace troupe::kernels {

/// The clipped policy objective with a KL penalty, token by token.
struct policy_loss_settings {
  float clip_low = 0.2F;    ///< ratio is clipped below at 1 - clip_low
  float clip_high = 0.2F;   ///< and above at 1 + clip_high
  float kl_coefficient = 0; ///< beta; 0: no reference is needed
};

struct policy_loss_sums {
  double loss = 0; ///< sum of weight * token loss
  double kl = 0;   ///< sum of weight * k3 estimate
  std::int64_t num_clipped_low = 0, num_clipped_high = 0;
};

/// token loss = -min(r A, clip(r, 1-low, 1+high) A)
///              + beta (exp(ref - new) - (ref - new) - 1),  r = exp(new - old)
/// Adds weights[t] * loss to the sums and writes coefficients[t] =
/// weights[t] * d loss / d new. Tokens with weight 0 are selected out, not
/// multiplied, so a NaN there has no effect (P62).
/// Shapes: all [T]; reference may be empty if kl_coefficient is 0.
/// Source: Schulman et al., PPO, eq. 7; Yu et al., DAPO, eq. 10 (asymmetric
/// clip); Schulman, Approximating KL Divergence, k3.
policy_loss_sums policy_loss(std::span<const float> new_logprobs,
                             std::span<const float> old_logprobs,
                             std::span<const float> reference_logprobs,
                             std::span<const float> advantages,
                             std::span<const float> weights,
                             const policy_loss_settings& settings,
                             std::span<float> coefficients);

} // namespace troupe::kernels
