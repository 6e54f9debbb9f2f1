// SPDX-License-Identifier: Apache-2.0
//
// The modules that decoders and plug-ins are made of. Each makes its
// parameters under the full name that it is given.
#pragma once

#include "runtime/model/module.hpp"
#include "runtime/model/module_registry.hpp"

#include <cstdint>

namespace troupe::runtime::model {

/// x weight^T, no bias. Shapes: weight [out, in].
class linear_layer : public module {
public:
  linear_layer(const module_arguments& arguments, std::int64_t in_width,
               std::int64_t out_width);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;
};

/// Root mean square norm. Shapes: weight [D].
class norm_layer : public module {
public:
  explicit norm_layer(const module_arguments& arguments);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  double eps_;
};

/// Token embedding. Shapes: weight [V, D]; x [T] int32.
class embedding_layer : public module {
public:
  explicit embedding_layer(const module_arguments& arguments);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;
};

/// The same arguments for a child: its name is appended.
module_arguments below(const module_arguments& arguments,
                       const std::string& name);

} // namespace troupe::runtime::model
