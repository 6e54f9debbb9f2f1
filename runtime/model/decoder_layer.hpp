// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/model/module.hpp"
#include "runtime/model/module_registry.hpp"
#include "runtime/model/operations.hpp"

#include <memory>

namespace troupe::runtime::model {

/// Causal attention with rotary positions and grouped query heads:
/// o_proj(attention(q_proj(x), k_proj(x), v_proj(x))).
class self_attention : public module {
public:
  self_attention(const module_arguments& arguments, attention_heads heads);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  attention_heads heads_;
  child_index q_, k_, v_, o_;
};

/// x + self_attn(input_layernorm(x)), then x +
/// mlp(post_attention_layernorm(x)), with an mlp of the type that the config
/// names.
class decoder_layer : public module {
public:
  decoder_layer(const module_arguments& arguments,
                const attention_heads& heads);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  child_index input_norm_, attention_, mlp_norm_, mlp_;
};

} // namespace troupe::runtime::model
