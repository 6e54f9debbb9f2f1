// SPDX-License-Identifier: Apache-2.0
//
// The policy objectives, token by token, with their slopes.
#pragma once

#include "kernels/kl_estimate.hpp"

#include <cstdint>
#include <span>

namespace troupe::kernels {

/// With r = exp(log ratio) and the advantage A of a token.
enum class policy_objective : std::uint8_t {
  /// -min(r A, clip(r, 1 - low, 1 + high) A); with dual_clip c > 0 and A < 0
  /// at most -c A. Source: Schulman et al., PPO, eq. 7; Yu et al., DAPO, eq. 8
  /// (two bounds); Ye et al. 2020, Mastering Complex Control in MOBA Games,
  /// eq. 5 (dual clip). TRL's delta is c; it bounds r for A > 0 as well, which
  /// is the same for c >= 1 + high.
  clipped,
  /// -stop(clip(r, 1 - low, 1 + high)) A logprob: every token has a gradient.
  /// Source: MiniMax-M1, eq. 4 and 5. TRL's epsilon_high is 1 + high, and it
  /// has no lower bound: low = 1.
  cispo,
};

struct policy_loss_settings {
  policy_objective objective = policy_objective::clipped;
  float clip_low = 0.2F;    ///< ratio is clipped below at 1 - clip_low
  float clip_high = 0.2F;   ///< and above at 1 + clip_high
  float dual_clip = 0;      ///< c; 0: off
  float kl_coefficient = 0; ///< beta; 0: no reference is needed
  kl_estimator kl = kl_estimator::k3;
};

/// Columns of tokens. Shapes: all [T]; those that may be empty say so.
struct policy_loss_tokens {
  std::span<const float> new_logprobs, old_logprobs;
  std::span<const float> reference_logprobs; ///< empty: kl_coefficient is 0
  std::span<const float> advantages;
  std::span<const float> weights; ///< of kernels/loss_weights.hpp
  /// Multiply the policy's term, not that of the KL; 0 selects it out. Empty:
  /// all 1.
  std::span<const float> importance_weights = {};
  /// The logarithm of r; empty: new - old. Its slope by the token's logprob is
  /// taken as 1; see kernels/sequence_ratio.hpp.
  std::span<const double> log_ratios = {};
};

struct policy_loss_sums {
  double loss = 0; ///< sum of weight * token loss
  double kl = 0;   ///< sum of weight * KL estimate
  std::int64_t num_clipped_low = 0, num_clipped_high = 0, num_dual_clipped = 0;
};

/// Returns the sum of weights[t] * (importance weight * objective + beta KL)
/// and writes coefficients[t] = weights[t] * d loss / d new logprob. The
/// denominator is in the weights.
/// Tokens with weight 0 are selected out, not multiplied, so a NaN there has no
/// effect (P62); an advantage of 0 gives an objective of exactly 0. Another
/// value that is not finite reaches the loss.
policy_loss_sums policy_loss(const policy_loss_tokens& tokens,
                             const policy_loss_settings& settings,
                             std::span<float> coefficients);

} // namespace troupe::kernels
