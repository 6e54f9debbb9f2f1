// SPDX-License-Identifier: Apache-2.0
//
// Estimates of KL(policy || reference) from one token drawn from the policy.
#pragma once

#include <cstdint>

namespace troupe::kernels {

/// With d = reference logprob - policy logprob. Source: Schulman 2020,
/// Approximating KL Divergence.
enum class kl_estimator : std::uint8_t {
  k1, ///< -d. Unbiased; as a loss its gradient is 0 in expectation
  k2, ///< d^2 / 2. Biased; as a loss its gradient is that of the divergence
  k3, ///< exp(d) - 1 - d. Unbiased, never below 0; DeepSeekMath, equation 4
};

struct kl_value {
  double value = 0; ///< nats
  double slope = 0; ///< d value / d policy logprob
};

kl_value kl_estimate(kl_estimator estimator, double logprob,
                     double reference_logprob);

} // namespace troupe::kernels
