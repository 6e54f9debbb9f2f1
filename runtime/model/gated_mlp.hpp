// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/model/module.hpp"
#include "runtime/model/module_registry.hpp"

namespace troupe::runtime::model {

/// The feed-forward part of the Llama family:
/// down_proj(silu(gate_proj(x)) * up_proj(x)).
class gated_mlp : public module {
public:
  explicit gated_mlp(const module_arguments& arguments);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  child_index gate_, up_, down_;
};

} // namespace troupe::runtime::model
