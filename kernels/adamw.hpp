// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"

#include <cstdint>
#include <span>

namespace troupe::kernels {

struct adamw_settings {
  double learning_rate = 0;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::int64_t step = 1; ///< 1 for the first update
  float grad_scale = 1;  ///< gradients are multiplied by it first (clipping)
};

/// One AdamW update in place; equal to torch.optim.AdamW to rounding.
/// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization,
/// algorithm 2. Shapes: all [n].
void adamw(std::span<float> weights, std::span<const float> gradients,
           std::span<float> first_moment, std::span<float> second_moment,
           const adamw_settings& settings, thread_pool& pool);

/// Returns the sum of squares in double, in a fixed order.
double sum_of_squares(std::span<const float> values, thread_pool& pool);

} // namespace troupe::kernels
