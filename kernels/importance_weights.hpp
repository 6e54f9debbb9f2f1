// SPDX-License-Identifier: Apache-2.0
//
// Corrections for what lies between the probabilities that the rollout drew
// with and those that the trainer computes for the same weights.
#pragma once

#include <cstdint>
#include <span>

namespace troupe::kernels {

/// With w = exp(old - rollout) of a token, or of a sequence exp(sum of old -
/// rollout over its selected tokens). A truncated weight is clamped to
/// [min, max]; a masked one is 0 outside, else w.
/// Source: Yao et al. 2025, Your Efficient RL Framework Secretly Brings You
/// Off-Policy RL Training (truncated, token: TIS); Liu et al. 2025, When Speed
/// Kills Stability (masked: MIS; sequence). TRL:
/// vllm_importance_sampling_mode.
enum class importance_correction : std::uint8_t {
  none,
  token_truncate,
  token_mask,
  sequence_truncate,
  sequence_mask,
};

struct importance_settings {
  importance_correction correction = importance_correction::none;
  float min = 0, max = 2;
};

struct importance_counts {
  double total = 0;             ///< sum of the weights of selected tokens
  std::int64_t num_bounded = 0; ///< selected tokens outside of [min, max]
};

/// These are weights, not a mask: a token of weight 0 stays in the denominator
/// of the loss. Tokens whose loss weight is 0 get 1 and count in no sum.
/// Shapes: all [T], lengths [B] -> out [T].
importance_counts importance_weights(std::span<const float> old_logprobs,
                                     std::span<const float> rollout_logprobs,
                                     std::span<const float> loss_weights,
                                     std::span<const std::int64_t> lengths,
                                     const importance_settings& settings,
                                     std::span<float> out);

} // namespace troupe::kernels
