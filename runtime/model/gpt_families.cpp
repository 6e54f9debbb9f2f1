// SPDX-License-Identifier: Apache-2.0
//
// Families with layer norms and a feed-forward part without a gate: GPT-2, OPT
// and GPT-NeoX. Dropout in their configs is not applied.
#include "runtime/model/families.hpp"

#include <array>

namespace troupe::runtime::model {

namespace {

using protocols::errc;

constexpr std::array gpt2_rules{
  layout_rule{.ours = "embed_tokens", .theirs = "wte"},
  layout_rule{.ours = "embed_positions", .theirs = "wpe"},
  layout_rule{.ours = "input_layernorm", .theirs = "ln_1"},
  layout_rule{.ours = "self_attn.q_proj",
              .theirs = "attn.c_attn",
              .is_turned = true,
              .part = 0,
              .num_parts = 3},
  layout_rule{.ours = "self_attn.k_proj",
              .theirs = "attn.c_attn",
              .is_turned = true,
              .part = 1,
              .num_parts = 3},
  layout_rule{.ours = "self_attn.v_proj",
              .theirs = "attn.c_attn",
              .is_turned = true,
              .part = 2,
              .num_parts = 3},
  layout_rule{
    .ours = "self_attn.o_proj", .theirs = "attn.c_proj", .is_turned = true},
  layout_rule{.ours = "post_attention_layernorm", .theirs = "ln_2"},
  layout_rule{.ours = "mlp.up_proj", .theirs = "mlp.c_fc", .is_turned = true},
  layout_rule{
    .ours = "mlp.down_proj", .theirs = "mlp.c_proj", .is_turned = true},
  layout_rule{.ours = "norm", .theirs = "ln_f"},
};

constexpr std::array opt_rules{
  layout_rule{.ours = "self_attn.o_proj", .theirs = "self_attn.out_proj"},
  layout_rule{.ours = "input_layernorm", .theirs = "self_attn_layer_norm"},
  layout_rule{.ours = "post_attention_layernorm", .theirs = "final_layer_norm"},
  layout_rule{.ours = "mlp.up_proj", .theirs = "fc1"},
  layout_rule{.ours = "mlp.down_proj", .theirs = "fc2"},
  layout_rule{.ours = "norm", .theirs = "final_layer_norm"},
};

constexpr std::array neox_rules{
  layout_rule{.ours = "embed_tokens", .theirs = "embed_in"},
  layout_rule{.ours = "self_attn.q_proj",
              .theirs = "attention.query_key_value",
              .part = 0,
              .num_parts = 3,
              .is_by_head = true},
  layout_rule{.ours = "self_attn.k_proj",
              .theirs = "attention.query_key_value",
              .part = 1,
              .num_parts = 3,
              .is_by_head = true},
  layout_rule{.ours = "self_attn.v_proj",
              .theirs = "attention.query_key_value",
              .part = 2,
              .num_parts = 3,
              .is_by_head = true},
  layout_rule{.ours = "self_attn.o_proj", .theirs = "attention.dense"},
  layout_rule{.ours = "mlp.up_proj", .theirs = "mlp.dense_h_to_4h"},
  layout_rule{.ours = "mlp.down_proj", .theirs = "mlp.dense_4h_to_h"},
  layout_rule{.ours = "norm", .theirs = "final_layer_norm"},
};

/// The sizes that all three have, under the keys of each.
struct size_keys {
  const char *hidden, *layers, *heads, *positions;
};

void read_sizes(const config_file& file, const size_keys& keys,
                decoder_config& out) {
  out.norm = norm_kind::layer;
  out.mlp = "plain_mlp";
  out.hidden_size = file.count(keys.hidden);
  out.num_layers = file.count(keys.layers);
  out.num_heads = out.num_kv_heads = file.count(keys.heads);
  out.max_positions = file.count(keys.positions);
  out.head_width = even_share(file, keys.heads, out);
}

void set_biases(bool are_there, decoder_config& out) {
  out.qkv_bias = out.output_bias = out.mlp_bias = are_there;
}

/// Positions are learned, from a row of their table on.
void learn_positions(std::int64_t first_row, decoder_config& out) {
  out.learned_positions = first_row;
  out.layers.assign(static_cast<std::size_t>(out.num_layers),
                    {.positions = layer_positions::none});
}

} // namespace

const file_layout gpt2_layout{"transformer", "h", "lm_head", gpt2_rules};
const file_layout opt_layout{"model.decoder", "layers", "lm_head", opt_rules};
const file_layout neox_layout{"gpt_neox", "layers", "embed_out", neox_rules};

void read_gpt2(const config_file& file, const family_defaults&,
               decoder_config& out) {
  file.require("add_cross_attention", false);
  read_sizes(file, {"n_embd", "n_layer", "n_head", "n_positions"}, out);
  out.intermediate_size = file.count("n_inner", 4 * out.hidden_size);
  out.norm_eps = file.positive("layer_norm_epsilon", 1e-5);
  out.activation = kernels::activation::gelu_tanh;
  read_activation(file, "activation_function", out);
  set_biases(true, out);
  learn_positions(0, out);
  if (!file.flag("scale_attn_weights", true))
    out.score_scale = 1;
  if (file.flag("scale_attn_by_inverse_layer_idx"))
    for (std::size_t i = 0; i < out.layers.size(); ++i)
      out.layers[i].score_factor = 1 / static_cast<double>(i + 1);
}

void read_opt(const config_file& file, const family_defaults&,
              decoder_config& out) {
  file.require("do_layer_norm_before", true);
  file.require("_remove_final_layer_norm", false);
  file.require("layer_norm_elementwise_affine", true);
  read_sizes(file,
             {"hidden_size", "num_hidden_layers", "num_attention_heads",
              "max_position_embeddings"},
             out);
  file.require("word_embed_proj_dim", out.hidden_size);
  out.intermediate_size = file.count("ffn_dim");
  out.norm_eps = 1e-5;
  out.activation = kernels::activation::relu;
  read_activation(file, "activation_function", out);
  out.initializer_range = file.positive("init_std", 0.02);
  set_biases(file.flag("enable_bias", true), out);
  learn_positions(2, out); // two rows for padding that nobody looks up
}

void read_gpt_neox(const config_file& file, const family_defaults&,
                   decoder_config& out) {
  read_sizes(file,
             {"hidden_size", "num_hidden_layers", "num_attention_heads",
              "max_position_embeddings"},
             out);
  out.intermediate_size = file.count("intermediate_size");
  out.norm_eps = file.positive("layer_norm_eps", 1e-5);
  out.activation = kernels::activation::gelu;
  read_activation(file, "hidden_act", out);
  out.parallel_residual = file.flag("use_parallel_residual", true);
  out.qkv_bias = out.output_bias = file.flag("attention_bias", true);
  out.mlp_bias = true;
  out.rope = read_rope(
    file,
    {.theta = "rotary_emb_base", .share = "rotary_pct", .default_share = 0.25},
    out.head_width, out.max_positions);
}

} // namespace troupe::runtime::model
