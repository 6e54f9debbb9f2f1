// SPDX-License-Identifier: Apache-2.0
//
// Log-probabilities of tokens from rows of logits, in nats.
#pragma once

#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"

#include <cstdint>
#include <span>

namespace troupe::kernels {

/// logprobs[t] = log softmax(logits[t] / temperature)[targets[t]].
/// Shapes: logits [T, V], targets [T] -> logprobs [T]; entropies [T] or null:
/// -sum p log p of the same distribution; log_sum_exp [T] or null.
/// Numerics: row maximum, then exp summed in 16 partial sums over v mod 16 and
/// one fixed tree; the same bits for a row wherever it stands. NaN or
/// +infinity in a row gives NaN; -infinity counts as probability 0.
void token_logprobs(const_matrix logits, std::span<const std::int32_t> targets,
                    float temperature, float* logprobs, float* entropies,
                    float* log_sum_exp, thread_pool& pool);

/// In place: logits[t] becomes d(sum_t coefficients[t] * logprobs[t])/dlogits,
/// that is coefficients[t] / temperature * (onehot(target) - softmax).
void token_logprobs_grad(matrix logits, std::span<const std::int32_t> targets,
                         float temperature, const float* log_sum_exp,
                         const float* coefficients, thread_pool& pool);

} // namespace troupe::kernels
