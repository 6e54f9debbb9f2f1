// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace troupe::kernels {

/// The logarithm of a sequence's ratio: the mean of new - old over its selected
/// tokens, written to each of them; 0 elsewhere.
/// A loss that has the same weight w, advantage and importance weight at every
/// selected token of a sequence is n w times the loss of the sequence, and the
/// slope of the mean by a token's logprob is 1 / n: the token's coefficient is
/// w times the slope of the loss by the log ratio. That is what policy_loss
/// computes from these.
/// Source: Zheng et al., GSPO, equations 5 and 7. TRL:
/// importance_sampling_level="sequence".
/// Shapes: logprobs, loss_weights [T], lengths [B] -> log_ratios [T].
void sequence_log_ratios(std::span<const float> new_logprobs,
                         std::span<const float> old_logprobs,
                         std::span<const float> loss_weights,
                         std::span<const std::int64_t> lengths,
                         std::span<double> log_ratios);

} // namespace troupe::kernels
