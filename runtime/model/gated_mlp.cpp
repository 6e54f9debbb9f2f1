// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/gated_mlp.hpp"

#include "runtime/model/layers.hpp"
#include "runtime/model/operations.hpp"

namespace troupe::runtime::model {

namespace {

enum class direction { widen, narrow };

std::shared_ptr<module> projection(const module_arguments& arguments,
                                   const char* name, direction to) {
  const auto& config = arguments.config;
  const auto narrow = config.hidden_size, wide = config.intermediate_size;
  return std::make_shared<linear_layer>(
    below(arguments, name), to == direction::widen ? narrow : wide,
    to == direction::widen ? wide : narrow, bias_if(config.mlp_bias));
}

} // namespace

gated_mlp::gated_mlp(const module_arguments& arguments)
  : module("gated_mlp"), activation_(arguments.config.activation) {
  gate_ = add_child("gate_proj",
                    projection(arguments, "gate_proj", direction::widen));
  up_ =
    add_child("up_proj", projection(arguments, "up_proj", direction::widen));
  down_ = add_child("down_proj",
                    projection(arguments, "down_proj", direction::narrow));
}

torch::Tensor gated_mlp::forward(const torch::Tensor& x,
                                 const forward_context& context) {
  return child(down_).forward(gated(child(gate_).forward(x, context),
                                    child(up_).forward(x, context), activation_,
                                    context.pool),
                              context);
}

plain_mlp::plain_mlp(const module_arguments& arguments)
  : module("plain_mlp"), activation_(arguments.config.activation) {
  up_ =
    add_child("up_proj", projection(arguments, "up_proj", direction::widen));
  down_ = add_child("down_proj",
                    projection(arguments, "down_proj", direction::narrow));
}

torch::Tensor plain_mlp::forward(const torch::Tensor& x,
                                 const forward_context& context) {
  return child(down_).forward(
    activate(child(up_).forward(x, context), activation_, context.pool),
    context);
}

} // namespace troupe::runtime::model
