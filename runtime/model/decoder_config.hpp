// SPDX-License-Identifier: Apache-2.0
//
// The shape of a decoder, as config.json of a Hugging Face folder gives it:
// one set of switches for all families (families.hpp). No LibTorch: the
// coordinator reads it, too.
#pragma once

#include "kernels/activation.hpp"
#include "runtime/model/rope.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::runtime::model {

enum class norm_kind : std::uint8_t {
  rms,          ///< root mean square, times weight
  rms_plus_one, ///< root mean square, times 1 + weight
  layer,        ///< mean and deviation, times weight, plus bias
};

enum class layer_positions : std::uint8_t {
  none,       ///< no rotation
  rope,       ///< decoder_config::rope
  local_rope, ///< decoder_config::local_rope
};

/// What may differ from layer to layer.
struct layer_config {
  std::int64_t window = 0; ///< keys that a row sees, its own too; 0: all
  layer_positions positions = layer_positions::rope;
  double score_factor = 1; ///< on top of decoder_config::score_scale

  bool operator==(const layer_config&) const = default;
};

struct decoder_config {
  std::string family = "llama"; ///< model_type of the files
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_width = 0; ///< hidden_size / num_heads unless given
  std::int64_t max_positions = 0;
  rope_config rope, local_rope;
  /// Positions are rows of a table from this one on, if given.
  std::optional<std::int64_t> learned_positions;
  std::vector<layer_config> layers; ///< empty: all of them the default

  norm_kind norm = norm_kind::rms;
  double norm_eps = 1e-5;
  bool query_key_norm = false;    ///< of each head, before the rotation
  bool branch_norms = false;      ///< of what attention and mlp give, too
  bool parallel_residual = false; ///< x + attention(x) + mlp(x)
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  std::string mlp = "gated_mlp"; ///< module type of the feed-forward part
  kernels::activation activation = kernels::activation::silu;

  double embedding_scale = 1;
  double score_scale = 0;   ///< of q k^T; 0: 1 / sqrt(head_width)
  double score_softcap = 0; ///< of attention's scores; 0: none
  double logit_softcap = 0; ///< of the logits; 0: none

  double initializer_range = 0.02;
  bool tie_embeddings = false;
  std::string dtype = "float32"; ///< of the files: float32, bfloat16, float16
  std::vector<std::int32_t> eos_token_ids; ///< generation_config.json wins
  std::int32_t bos_token_id = -1;          ///< -1: none
  std::int32_t pad_token_id = -1;          ///< -1: none

  /// The files that it was read from, empty if there are none: what is written
  /// keeps their other keys.
  std::string config_json, generation_json;

  [[nodiscard]] layer_config layer(std::int64_t index) const {
    return layers.empty() ? layer_config{}
                          : layers[static_cast<std::size_t>(index)];
  }
};

/// Reads config.json and generation_config.json of `folder`.
/// Errors: model_unreadable (file, key), model_unsupported (architecture,
/// activation, rope scaling, ...: named with its value and what is allowed).
decoder_config read_decoder_config(const std::filesystem::path& folder);

/// Writes config.json and generation_config.json that `transformers` loads:
/// what was read, with dtype and token ids as they are now. A decoder made
/// from nothing is written as a Llama, which it is unless its mlp is a
/// plug-in's.
void write_decoder_config(const decoder_config& config,
                          const std::filesystem::path& folder);

/// Of all weights together, a plug-in's own not among them.
std::int64_t num_parameters(const decoder_config& config);

} // namespace troupe::runtime::model
