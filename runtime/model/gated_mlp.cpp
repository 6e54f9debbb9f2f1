// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/gated_mlp.hpp"

#include "runtime/model/layers.hpp"
#include "runtime/model/operations.hpp"

namespace troupe::runtime::model {

gated_mlp::gated_mlp(const module_arguments& arguments) : module("gated_mlp") {
  const auto narrow = arguments.config.hidden_size;
  const auto wide = arguments.config.intermediate_size;
  gate_ =
    add_child("gate_proj", std::make_shared<linear_layer>(
                             below(arguments, "gate_proj"), narrow, wide));
  up_ = add_child("up_proj", std::make_shared<linear_layer>(
                               below(arguments, "up_proj"), narrow, wide));
  down_ =
    add_child("down_proj", std::make_shared<linear_layer>(
                             below(arguments, "down_proj"), wide, narrow));
}

torch::Tensor gated_mlp::forward(const torch::Tensor& x,
                                 const forward_context& context) {
  return child(down_).forward(swiglu(child(gate_).forward(x, context),
                                     child(up_).forward(x, context),
                                     context.pool),
                              context);
}

} // namespace troupe::runtime::model
