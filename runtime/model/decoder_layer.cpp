// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder_layer.hpp"

#include "runtime/model/layers.hpp"

namespace troupe::runtime::model {

self_attention::self_attention(const module_arguments& arguments,
                               attention_heads heads)
  : module("self_attention"), heads_(std::move(heads)) {
  const auto width = arguments.config.hidden_size;
  const auto q_width = heads_.num_heads * heads_.head_width;
  const auto kv_width = heads_.num_kv_heads * heads_.head_width;
  const auto projection = [&](const char* name, std::int64_t in_width,
                              std::int64_t out_width) {
    return add_child(name, std::make_shared<linear_layer>(
                             below(arguments, name), in_width, out_width));
  };
  q_ = projection("q_proj", width, q_width);
  k_ = projection("k_proj", width, kv_width);
  v_ = projection("v_proj", width, kv_width);
  o_ = projection("o_proj", q_width, width);
}

torch::Tensor self_attention::forward(const torch::Tensor& x,
                                      const forward_context& context) {
  return child(o_).forward(rotary_attention(child(q_).forward(x, context),
                                            child(k_).forward(x, context),
                                            child(v_).forward(x, context),
                                            heads_, context),
                           context);
}

decoder_layer::decoder_layer(const module_arguments& arguments,
                             const attention_heads& heads)
  : module("decoder_layer") {
  input_norm_ = add_child("input_layernorm", std::make_shared<norm_layer>(below(
                                               arguments, "input_layernorm")));
  attention_ = add_child("self_attn", std::make_shared<self_attention>(
                                        below(arguments, "self_attn"), heads));
  mlp_norm_ = add_child(
    "post_attention_layernorm",
    std::make_shared<norm_layer>(below(arguments, "post_attention_layernorm")));
  mlp_ = add_child("mlp", arguments.registry.make(arguments.config.mlp,
                                                  below(arguments, "mlp")));
}

torch::Tensor decoder_layer::forward(const torch::Tensor& x,
                                     const forward_context& context) {
  const auto attended = add_residual(
    x,
    child(attention_).forward(child(input_norm_).forward(x, context), context));
  return add_residual(
    attended,
    child(mlp_).forward(child(mlp_norm_).forward(attended, context), context));
}

} // namespace troupe::runtime::model
