// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder_layer.hpp"

#include "runtime/model/layers.hpp"

namespace troupe::runtime::model {

self_attention::self_attention(const module_arguments& arguments,
                               attention_heads heads)
  : module("self_attention"), heads_(std::move(heads)) {
  const auto& config = arguments.config;
  const auto width = config.hidden_size;
  const auto q_width = heads_.num_heads * heads_.head_width;
  const auto kv_width = heads_.num_kv_heads * heads_.head_width;
  const auto projection = [&](const char* name, std::int64_t in_width,
                              std::int64_t out_width, bool has_bias) {
    return add_child(
      name, std::make_shared<linear_layer>(below(arguments, name), in_width,
                                           out_width, bias_if(has_bias)));
  };
  const auto head_norm = [&](const char* name) {
    return add_child(name, std::make_shared<norm_layer>(below(arguments, name),
                                                        heads_.head_width));
  };
  q_ = projection("q_proj", width, q_width, config.qkv_bias);
  k_ = projection("k_proj", width, kv_width, config.qkv_bias);
  v_ = projection("v_proj", width, kv_width, config.qkv_bias);
  o_ = projection("o_proj", q_width, width, config.output_bias);
  if (config.query_key_norm) {
    q_norm_ = head_norm("q_norm");
    k_norm_ = head_norm("k_norm");
  }
}

torch::Tensor self_attention::forward(const torch::Tensor& x,
                                      const forward_context& context) {
  // The gradient of x is summed in the reverse of this order.
  const auto v = child(v_).forward(x, context);
  auto k = child(k_).forward(x, context);
  auto q = child(q_).forward(x, context);
  if (q_norm_) {
    q = child(*q_norm_).forward(q, context);
    k = child(*k_norm_).forward(k, context);
  }
  return child(o_).forward(rotary_attention(q, k, v, heads_, context), context);
}

decoder_layer::decoder_layer(const module_arguments& arguments,
                             const attention_heads& heads)
  : module("decoder_layer"), is_parallel_(arguments.config.parallel_residual) {
  const auto& config = arguments.config;
  const auto norm = [&](const char* name) {
    return add_child(name, std::make_shared<norm_layer>(below(arguments, name),
                                                        config.hidden_size));
  };
  input_norm_ = norm("input_layernorm");
  attention_ = add_child("self_attn", std::make_shared<self_attention>(
                                        below(arguments, "self_attn"), heads));
  if (config.branch_norms) {
    after_attention_ = norm("post_attention_layernorm");
    mlp_norm_ = norm("pre_feedforward_layernorm");
  } else {
    mlp_norm_ = norm("post_attention_layernorm");
  }
  mlp_ = add_child(
    "mlp", arguments.registry.make(config.mlp, below(arguments, "mlp")));
  if (config.branch_norms)
    after_mlp_ = norm("post_feedforward_layernorm");
}

torch::Tensor decoder_layer::branch(child_index norm, child_index body,
                                    std::optional<child_index> after,
                                    const torch::Tensor& x,
                                    const forward_context& context) {
  auto y = child(body).forward(child(norm).forward(x, context), context);
  return after ? child(*after).forward(y, context) : y;
}

torch::Tensor decoder_layer::forward(const torch::Tensor& x,
                                     const forward_context& context) {
  const auto attention =
    branch(input_norm_, attention_, after_attention_, x, context);
  if (is_parallel_)
    return add_residual(
      x,
      add_residual(attention, branch(mlp_norm_, mlp_, after_mlp_, x, context)));
  const auto attended = add_residual(x, attention);
  return add_residual(attended,
                      branch(mlp_norm_, mlp_, after_mlp_, attended, context));
}

} // namespace troupe::runtime::model
