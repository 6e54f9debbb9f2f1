// SPDX-License-Identifier: Apache-2.0
//
// From hidden states to logprobs of tokens, and back, by chunks of rows: the
// logits [T, V] are never held whole. Forward and backward of a chunk follow
// each other, so that its logits are computed once.
#pragma once

#include "kernels/thread_pool.hpp"

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace troupe::runtime::train {

/// Tokens to score: the hidden state of row rows[i] predicts targets[i].
struct scored_rows {
  std::span<const std::int32_t> rows;    ///< a row may come several times
  std::span<const std::int32_t> targets; ///< same length
};

/// Logprobs of a chunk in, d loss / d logprob out.
/// (first token of the chunk, logprobs, entropies, coefficients)
using loss_function = std::function<void(
  std::size_t begin, std::span<const float> logprobs,
  std::span<const float> entropies, std::span<float> coefficients)>;

struct loss_head_settings {
  float temperature = 1.0F;
  std::int64_t chunk_tokens = 256;
  /// d loss / d entropy of each token, for `backward`; empty: all 0.
  std::span<const float> entropy_slopes = {};
  float softcap = 0; ///< of the logits, before the temperature; 0: none
};

/// Returns the logprobs of the tokens. Shapes: hidden [T, D], weight [V, D].
std::vector<float> score(const torch::Tensor& hidden,
                         const torch::Tensor& weight, const scored_rows& rows,
                         const loss_head_settings& settings,
                         kernels::thread_pool& pool);

/// Calls `loss` for each chunk, adds to weight.grad() and returns d loss /
/// d hidden [T, D], 0 in rows that are not scored.
torch::Tensor backward(const torch::Tensor& hidden, const torch::Tensor& weight,
                       const scored_rows& rows,
                       const loss_head_settings& settings,
                       const loss_function& loss, kernels::thread_pool& pool);

} // namespace troupe::runtime::train
