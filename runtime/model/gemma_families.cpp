// SPDX-License-Identifier: Apache-2.0
//
// Gemma 2 and the text part of Gemma 3.
#include "runtime/model/families.hpp"

#include <cmath>

namespace troupe::runtime::model {

namespace {

using protocols::errc;

/// A cap that may be null for none; without the key it is `absent`.
double read_cap(const config_file& file, const char* key, double absent) {
  if (!file.has(key))
    return absent;
  return file[key].is_null() ? 0 : file.positive(key);
}

/// What both have. `pattern`: each so manieth layer sees all keys.
void read_gemma(const config_file& file, std::int64_t pattern,
                decoder_config& out) {
  if (file["use_bidirectional_attention"] == true)
    file.refuse(errc::model_unsupported, "use_bidirectional_attention",
                "supported is false");
  out.activation = kernels::activation::gelu_tanh;
  read_llama_sizes(file, out, 256);
  read_activation(file, "hidden_activation", out);
  out.norm = norm_kind::rms_plus_one;
  out.branch_norms = true;
  out.qkv_bias = out.output_bias = file.flag("attention_bias");
  out.embedding_scale = std::sqrt(static_cast<double>(out.hidden_size));
  out.score_scale = 1 / std::sqrt(file.positive("query_pre_attn_scalar", 256));
  read_windows(
    file, file.count("sliding_window", 4096),
    [&](std::int64_t layer) { return (layer + 1) % pattern != 0; }, out);
}

} // namespace

void read_gemma2(const config_file& file, const family_defaults& defaults,
                 decoder_config& out) {
  read_gemma(file, 2, out);
  out.score_softcap = read_cap(file, "attn_logit_softcapping", 50);
  out.logit_softcap = read_cap(file, "final_logit_softcapping", 30);
  out.rope = read_rope(file, {.default_theta = defaults.rope_theta},
                       out.head_width, out.max_positions);
}

void read_gemma3(const config_file& file, const family_defaults& defaults,
                 decoder_config& out) {
  read_gemma(file, file.count("sliding_window_pattern", 6), out);
  out.score_softcap = read_cap(file, "attn_logit_softcapping", 0);
  out.logit_softcap = read_cap(file, "final_logit_softcapping", 0);
  out.query_key_norm = true;
  const bool is_nested = file["rope_parameters/full_attention"].is_object();
  auto positions = out.max_positions;
  out.local_rope = read_rope(file,
                             {.block = "rope_parameters/sliding_attention",
                              .theta = "rope_local_base_freq",
                              .default_theta = 10000},
                             out.head_width, positions);
  out.rope =
    read_rope(file,
              {.block = is_nested ? "rope_parameters/full_attention" : "",
               .default_theta = defaults.rope_theta},
              out.head_width, out.max_positions);
  for (auto& layer : out.layers)
    layer.positions =
      layer.window > 0 ? layer_positions::local_rope : layer_positions::rope;
}

} // namespace troupe::runtime::model
