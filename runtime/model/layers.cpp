// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/layers.hpp"

#include "runtime/model/operations.hpp"

namespace troupe::runtime::model {

namespace {

std::shared_ptr<shard::parameter> make_weight(const module_arguments& arguments,
                                              std::vector<std::int64_t> shape,
                                              shard::initialisation fill) {
  return arguments.factory.make_parameter(
    {.name = arguments.name + ".weight",
     .shape = std::move(shape),
     .fill = fill,
     .deviation = arguments.config.initializer_range});
}

} // namespace

linear_layer::linear_layer(const module_arguments& arguments,
                           std::int64_t in_width, std::int64_t out_width)
  : module("linear") {
  add_parameter("weight", make_weight(arguments, {out_width, in_width},
                                      shard::initialisation::normal));
}

torch::Tensor linear_layer::forward(const torch::Tensor& x,
                                    const forward_context& context) {
  return linear(x, tensor(0), context.pool);
}

norm_layer::norm_layer(const module_arguments& arguments)
  : module("rms_norm"), eps_(arguments.config.rms_norm_eps) {
  add_parameter("weight", make_weight(arguments, {arguments.config.hidden_size},
                                      shard::initialisation::ones));
}

torch::Tensor norm_layer::forward(const torch::Tensor& x,
                                  const forward_context& context) {
  return rms_norm(x, tensor(0), eps_, context.pool);
}

embedding_layer::embedding_layer(const module_arguments& arguments)
  : module("embedding") {
  const auto& config = arguments.config;
  add_parameter("weight",
                make_weight(arguments, {config.vocab_size, config.hidden_size},
                            shard::initialisation::normal));
}

torch::Tensor embedding_layer::forward(const torch::Tensor& x,
                                       const forward_context&) {
  return model::embedding(x, tensor(0));
}

module_arguments below(const module_arguments& arguments,
                       const std::string& name) {
  return {arguments.config, arguments.factory, arguments.registry,
          arguments.name.empty() ? name : arguments.name + "." + name};
}

} // namespace troupe::runtime::model
