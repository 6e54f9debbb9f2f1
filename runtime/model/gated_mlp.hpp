// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/model/module.hpp"
#include "runtime/model/module_registry.hpp"

namespace troupe::runtime::model {

/// The feed-forward part of Llama and its relatives:
/// down_proj(f(gate_proj(x)) * up_proj(x)), f being the config's activation.
class gated_mlp : public module {
public:
  explicit gated_mlp(const module_arguments& arguments);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  kernels::activation activation_;
  child_index gate_, up_, down_;
};

/// That of GPT and its relatives: down_proj(f(up_proj(x))).
class plain_mlp : public module {
public:
  explicit plain_mlp(const module_arguments& arguments);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  kernels::activation activation_;
  child_index up_, down_;
};

} // namespace troupe::runtime::model
