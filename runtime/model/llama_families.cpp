// SPDX-License-Identifier: Apache-2.0
//
// Families with Llama's keys and names of tensors, and what they add to it.
#include "runtime/model/families.hpp"

#include <array>

namespace troupe::runtime::model {

namespace {

using protocols::errc;

/// Of any model known; RoPE makes tables of this width before weights are seen.
constexpr std::int64_t max_head_width = 65536;

constexpr const char* plugin_key = "troupe_mlp";

constexpr std::array<std::pair<std::string_view, kernels::activation>, 6>
  activations{{
    {"silu", kernels::activation::silu},
    {"swish", kernels::activation::silu},
    {"gelu", kernels::activation::gelu},
    {"gelu_new", kernels::activation::gelu_tanh},
    {"gelu_pytorch_tanh", kernels::activation::gelu_tanh},
    {"relu", kernels::activation::relu},
  }};

/// Sizes and rotary positions.
void read_body(const config_file& file, const family_defaults& defaults,
               decoder_config& out,
               std::optional<std::int64_t> head_width = {}) {
  read_llama_sizes(file, out, head_width);
  out.rope = read_rope(file, {.default_theta = defaults.rope_theta},
                       out.head_width, out.max_positions);
}

void read_biases(const config_file& file, decoder_config& out) {
  out.qkv_bias = out.output_bias = file.flag("attention_bias");
  out.mlp_bias = file.flag("mlp_bias");
}

/// sliding_window counts where use_sliding_window is set.
void read_qwen_windows(const config_file& file, decoder_config& out) {
  std::int64_t window = 0;
  if (file.flag("use_sliding_window"))
    window = file.has("sliding_window") && file["sliding_window"].is_null()
               ? 0
               : file.count("sliding_window", 4096);
  const auto first =
    file["max_window_layers"] == 0 ? 0 : file.count("max_window_layers", 28);
  read_windows(
    file, window,
    [&](std::int64_t layer) { return window > 0 && layer >= first; }, out);
}

/// A 1 for each layer with rotary positions, a 0 for one without.
void read_no_rope_layers(const config_file& file, decoder_config& out) {
  const auto& list = file["no_rope_layers"];
  const auto size = static_cast<std::size_t>(out.num_layers);
  const bool is_list =
    list.is_array() && list.size() >= size
    && std::all_of(list.begin(), list.end(),
                   [](const auto& v) { return v == 0 || v == 1; });
  if (!list.is_null() && !is_list)
    file.refuse(errc::model_unreadable, "no_rope_layers",
                "a list of 0 and 1 for each of " + std::to_string(size)
                  + " layers is needed");
  const auto interval = file.count("no_rope_layer_interval", 4);
  out.layers.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const bool rotates = list.is_null()
                           ? (static_cast<std::int64_t>(i) + 1) % interval != 0
                           : list[i] == 1;
    out.layers[i].positions =
      rotates ? layer_positions::rope : layer_positions::none;
  }
}

} // namespace

std::int64_t even_share(const config_file& file, const char* heads_key,
                        const decoder_config& out) {
  if (out.hidden_size % out.num_heads != 0)
    file.refuse(errc::model_unreadable, heads_key,
                "without head_dim it must divide hidden_size, "
                  + std::to_string(out.hidden_size));
  return out.hidden_size / out.num_heads;
}

void read_activation(const config_file& file, const std::string& key,
                     decoder_config& out) {
  if (file[key].is_null())
    return;
  std::string known;
  for (const auto& [name, f] : activations) {
    if (file[key] == name) {
      out.activation = f;
      return;
    }
    known += (known.empty() ? "\"" : ", \"") + std::string{name} + "\"";
  }
  file.refuse(errc::model_unsupported, key, "supported are " + known);
}

void read_llama_sizes(const config_file& file, decoder_config& out,
                      std::optional<std::int64_t> head_width) {
  out.hidden_size = file.count("hidden_size");
  out.intermediate_size = file.count("intermediate_size");
  out.num_layers = file.count("num_hidden_layers");
  out.num_heads = file.count("num_attention_heads");
  out.num_kv_heads = file.count("num_key_value_heads", out.num_heads);
  out.max_positions = file.count("max_position_embeddings", 2048);
  if (out.num_heads % out.num_kv_heads != 0)
    file.refuse(errc::model_unreadable, "num_key_value_heads",
                "it must divide num_attention_heads, "
                  + std::to_string(out.num_heads));
  if (file["head_dim"].is_null())
    out.head_width =
      head_width ? *head_width : even_share(file, "num_attention_heads", out);
  else
    out.head_width = file.count("head_dim");
  if (out.head_width % 2 != 0)
    file.refuse(errc::model_unreadable, "head_dim",
                "RoPE needs an even width, not "
                  + std::to_string(out.head_width));
  if (out.head_width > max_head_width)
    file.refuse(errc::model_unreadable, "head_dim",
                "an even width up to " + std::to_string(max_head_width)
                  + " is allowed");
  out.norm_eps = file.positive("rms_norm_eps", 1e-6);
  read_activation(file, "hidden_act", out);
}

void read_windows(const config_file& file, std::int64_t window,
                  const std::function<bool(std::int64_t layer)>& slides,
                  decoder_config& out) {
  const auto& types = file["layer_types"];
  const auto size = static_cast<std::size_t>(out.num_layers);
  const bool is_list =
    types.is_array() && types.size() == size
    && std::all_of(types.begin(), types.end(), [](const auto& type) {
         return type == "full_attention" || type == "sliding_attention";
       });
  if (!types.is_null() && !is_list)
    file.refuse(errc::model_unsupported, "layer_types",
                "supported is a list of \"full_attention\" and "
                "\"sliding_attention\", one for each of "
                  + std::to_string(size) + " layers");
  out.layers.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const bool is_sliding = types.is_null()
                              ? slides(static_cast<std::int64_t>(i))
                              : types[i] == "sliding_attention";
    if (is_sliding && window == 0)
      file.refuse(errc::model_unreadable, "sliding_window",
                  "layer " + std::to_string(i)
                    + " slides, so a window is needed");
    out.layers[i].window = is_sliding ? window : 0;
  }
}

void read_llama(const config_file& file, const family_defaults& defaults,
                decoder_config& out) {
  file.require("pretraining_tp", 1);
  read_body(file, defaults, out);
  read_biases(file, out);
}

void read_mistral(const config_file& file, const family_defaults& defaults,
                  decoder_config& out) {
  read_body(file, defaults, out);
  if (!file.has("sliding_window") || !file["sliding_window"].is_null())
    out.layers.assign(static_cast<std::size_t>(out.num_layers),
                      {.window = file.count("sliding_window", 4096)});
}

void read_qwen2(const config_file& file, const family_defaults& defaults,
                decoder_config& out) {
  read_body(file, defaults, out);
  out.qkv_bias = true;
  read_qwen_windows(file, out);
}

void read_qwen3(const config_file& file, const family_defaults& defaults,
                decoder_config& out) {
  read_body(file, defaults, out, 128);
  out.qkv_bias = out.output_bias = file.flag("attention_bias");
  out.query_key_norm = true;
  read_qwen_windows(file, out);
}

void read_smollm3(const config_file& file, const family_defaults& defaults,
                  decoder_config& out) {
  read_body(file, defaults, out);
  read_biases(file, out);
  const bool slides =
    file.flag("use_sliding_window") && !file["sliding_window"].is_null();
  read_no_rope_layers(file, out);
  const auto rotating = out.layers;
  read_windows(
    file, slides ? file.count("sliding_window") : 0,
    [&](std::int64_t layer) {
      return slides
             && rotating[static_cast<std::size_t>(layer)].positions
                  == layer_positions::none;
    },
    out);
}

void read_plugin(const config_file& file, const family_defaults& defaults,
                 decoder_config& out) {
  if (!file[plugin_key].is_string())
    file.refuse(errc::model_unreadable, plugin_key,
                "the module type of a plug-in is needed");
  read_llama(file, defaults, out);
  out.mlp = file[plugin_key].get<std::string>();
}

} // namespace troupe::runtime::model
