// SPDX-License-Identifier: Apache-2.0
//
// What a token counts in a loss. The mask and its denominator meet here and
// nowhere else: a weight of 0 says "selected out" to every other kernel.
#pragma once

#include <cstdint>
#include <span>

namespace troupe::kernels {

/// The loss is the sum over selected tokens of token loss / denominator. T:
/// selected tokens; N: sequences with a selected token; n: selected tokens of
/// the token's sequence.
enum class loss_aggregation : std::uint8_t {
  token_mean,    ///< T. Yu et al., DAPO, equation 8. TRL: bnpo, dapo
  sequence_mean, ///< N n. Shao et al., DeepSeekMath, equation 3. TRL: grpo
  fixed_length,  ///< N times a constant. Liu et al., Dr. GRPO, section 3.2.
                 ///< TRL: dr_grpo
  sequence_sum,  ///< N. The policy gradient of whole sequences; TRL: luspo
};

struct loss_weight_settings {
  loss_aggregation aggregation = loss_aggregation::token_mean;
  std::int64_t fixed_length = 1; ///< tokens; of fixed_length
};

struct loss_weight_counts {
  std::int64_t num_tokens = 0, num_sequences = 0; ///< T and N
};

/// weights[t] = 1 / denominator where mask[t] != 0, else 0. Without a selected
/// token all weights are 0. Differs from TRL: a sequence without a selected
/// token is not counted in N.
/// Shapes: mask [T], lengths [B] (tokens; may be 0; their sum is T) ->
/// weights [T].
loss_weight_counts loss_weights(std::span<const std::uint8_t> mask,
                                std::span<const std::int64_t> lengths,
                                const loss_weight_settings& settings,
                                std::span<float> weights);

} // namespace troupe::kernels
