// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/model/module.hpp"
#include "runtime/model/module_registry.hpp"
#include "runtime/model/operations.hpp"

#include <memory>
#include <optional>

namespace troupe::runtime::model {

/// Causal attention with grouped query heads:
/// o_proj(attention(q_norm(q_proj(x)), k_norm(k_proj(x)), v_proj(x))), the
/// norms where the config has them.
class self_attention : public module {
public:
  self_attention(const module_arguments& arguments, attention_heads heads);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  attention_heads heads_;
  child_index q_, k_, v_, o_;
  std::optional<child_index> q_norm_, k_norm_;
};

/// x + self_attn(input_layernorm(x)), then x + mlp(norm(x)), with an mlp of the
/// type that the config names; or both added to one x (parallel residual). With
/// branch norms, what attention and mlp give passes through a norm, too. The
/// mlp's norm is then pre_feedforward_layernorm, else post_attention_layernorm.
class decoder_layer : public module {
public:
  decoder_layer(const module_arguments& arguments,
                const attention_heads& heads);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  /// norm, attention or mlp, and what follows before the residual.
  torch::Tensor branch(child_index norm, child_index body,
                       std::optional<child_index> after, const torch::Tensor& x,
                       const forward_context& context);

  bool is_parallel_;
  child_index input_norm_, attention_, mlp_norm_, mlp_;
  std::optional<child_index> after_attention_, after_mlp_;
};

} // namespace troupe::runtime::model
