// SPDX-License-Identifier: Apache-2.0
//
// The modules that decoders and plug-ins are made of. Each makes its
// parameters under the full name that it is given.
#pragma once

#include "runtime/model/module.hpp"
#include "runtime/model/module_registry.hpp"

#include <cstdint>

namespace troupe::runtime::model {

enum class linear_bias : std::uint8_t { none, added };

inline linear_bias bias_if(bool has_one) {
  return has_one ? linear_bias::added : linear_bias::none;
}

/// x weight^T + bias. Shapes: weight [out, in], bias [out].
class linear_layer : public module {
public:
  linear_layer(const module_arguments& arguments, std::int64_t in_width,
               std::int64_t out_width, linear_bias bias = linear_bias::none);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;
};

/// The config's norm, of rows or of the heads that stand in a row.
/// Shapes: weight, and the bias of a layer norm, [width].
class norm_layer : public module {
public:
  norm_layer(const module_arguments& arguments, std::int64_t width);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  norm_kind kind_;
  double eps_;
};

/// Token embedding. Shapes: weight [V, D]; x [T] int32.
class embedding_layer : public module {
public:
  explicit embedding_layer(const module_arguments& arguments);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  double scale_;
};

/// Adds a row of a table for each position. Shapes: weight [P, D].
class position_layer : public module {
public:
  explicit position_layer(const module_arguments& arguments);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  std::int32_t first_row_;
};

/// The same arguments for a child: its name is appended.
module_arguments below(const module_arguments& arguments,
                       const std::string& name);

} // namespace troupe::runtime::model
