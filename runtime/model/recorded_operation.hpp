// SPDX-License-Identifier: Apache-2.0
//
// A node of autograd's graph whose gradient is a closure. What the closure
// captures is what is kept for backward; it must not capture the result itself
// (a cycle), but may capture result.detach().
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/types.h>

#include <functional>
#include <initializer_list>

namespace troupe::runtime::model {

/// Returns the gradients of the inputs, in their order; undefined for those
/// that need none or have been added to a leaf's grad() already.
using gradient_function =
  std::function<torch::autograd::variable_list(const torch::Tensor&)>;

/// True if gradients are enabled and one of the inputs requires one.
bool is_recording(std::initializer_list<torch::Tensor> inputs);

/// Makes `result`, a new tensor, depend on `inputs`. The graph is walked once:
/// captured tensors go as soon as their gradient is through.
void record(const char* name, torch::Tensor& result,
            std::initializer_list<torch::Tensor> inputs,
            gradient_function gradient);

/// Returns the leaf's grad(), made of zeros if it has none.
torch::Tensor gradient_of(const torch::Tensor& leaf);

} // namespace troupe::runtime::model
