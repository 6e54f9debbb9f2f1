// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"

#include <cstdint>
#include <span>

namespace troupe::kernels {

/// d loss / d of what a row of logits gives: its token's logprob and its
/// entropy. Shapes: all [T].
struct objective_slopes {
  const float* of_logprobs = nullptr;
  const float* of_entropies = nullptr; ///< -coefficient / selected tokens; 0
                                       ///< where the token is selected out
};

/// token_logprobs_grad with an entropy term: logits[t] becomes
/// (a (onehot(target) - p) - b p (log p + entropy)) / temperature, with the
/// slopes a and b and p = softmax(logits / temperature). A row whose slopes are
/// both 0 becomes 0.
/// log_sum_exp and entropies are those of token_logprobs.
/// Source: Mnih et al. 2016, Asynchronous Methods, section 4 (entropy in the
/// objective), with the mean over the selected tokens. TRL: entropy_coef.
void token_objective_grad(matrix logits, std::span<const std::int32_t> targets,
                          float temperature, const float* log_sum_exp,
                          const float* entropies,
                          const objective_slopes& slopes, thread_pool& pool);

} // namespace troupe::kernels
