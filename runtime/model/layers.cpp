// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/layers.hpp"

#include "runtime/model/operations.hpp"

#include <algorithm>

namespace troupe::runtime::model {

namespace {

std::shared_ptr<shard::parameter>
make_parameter(const module_arguments& arguments, const char* name,
               std::vector<std::int64_t> shape, shard::initialisation fill) {
  return arguments.factory.make_parameter(
    {.name = arguments.name + "." + name,
     .shape = std::move(shape),
     .fill = fill,
     .deviation = arguments.config.initializer_range});
}

} // namespace

linear_layer::linear_layer(const module_arguments& arguments,
                           std::int64_t in_width, std::int64_t out_width,
                           linear_bias bias)
  : module("linear") {
  add_parameter("weight",
                make_parameter(arguments, "weight", {out_width, in_width},
                               shard::initialisation::normal));
  if (bias == linear_bias::added)
    add_parameter("bias", make_parameter(arguments, "bias", {out_width},
                                         shard::initialisation::zeros));
}

torch::Tensor linear_layer::forward(const torch::Tensor& x,
                                    const forward_context& context) {
  return linear(x, tensor(0), context.pool,
                parameters().size() > 1 ? tensor(1) : torch::Tensor{});
}

norm_layer::norm_layer(const module_arguments& arguments, std::int64_t width)
  : module("norm"), kind_(arguments.config.norm),
    eps_(arguments.config.norm_eps) {
  add_parameter("weight", make_parameter(arguments, "weight", {width},
                                         kind_ == norm_kind::rms_plus_one
                                           ? shard::initialisation::zeros
                                           : shard::initialisation::ones));
  if (kind_ == norm_kind::layer)
    add_parameter("bias", make_parameter(arguments, "bias", {width},
                                         shard::initialisation::zeros));
}

torch::Tensor norm_layer::forward(const torch::Tensor& x,
                                  const forward_context& context) {
  if (kind_ == norm_kind::layer)
    return layer_norm(x, tensor(0), tensor(1), eps_, context.pool);
  return rms_norm(x, tensor(0), eps_, context.pool,
                  kind_ == norm_kind::rms_plus_one ? 1 : 0);
}

embedding_layer::embedding_layer(const module_arguments& arguments)
  : module("embedding"), scale_(arguments.config.embedding_scale) {
  const auto& config = arguments.config;
  add_parameter("weight",
                make_parameter(arguments, "weight",
                               {config.vocab_size, config.hidden_size},
                               shard::initialisation::normal));
}

torch::Tensor embedding_layer::forward(const torch::Tensor& x,
                                       const forward_context&) {
  return model::embedding(x, tensor(0), scale_);
}

position_layer::position_layer(const module_arguments& arguments)
  : module("positions"), first_row_(static_cast<std::int32_t>(
                           arguments.config.learned_positions.value_or(0))) {
  const auto& config = arguments.config;
  add_parameter("weight", make_parameter(arguments, "weight",
                                         {config.max_positions + first_row_,
                                          config.hidden_size},
                                         shard::initialisation::normal));
}

torch::Tensor position_layer::forward(const torch::Tensor& x,
                                      const forward_context& context) {
  auto rows_T = torch::empty(
    {static_cast<std::int64_t>(context.positions.size())}, torch::kInt32);
  std::transform(context.positions.begin(), context.positions.end(),
                 rows_T.mutable_data_ptr<std::int32_t>(),
                 [&](std::int32_t at) { return at + first_row_; });
  return add_residual(x, model::embedding(rows_T, tensor(0)));
}

module_arguments below(const module_arguments& arguments,
                       const std::string& name) {
  return {arguments.config, arguments.factory, arguments.registry,
          arguments.name.empty() ? name : arguments.name + "." + name};
}

} // namespace troupe::runtime::model
