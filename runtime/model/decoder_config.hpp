// SPDX-License-Identifier: Apache-2.0
//
// The shape of a decoder, as config.json of a Hugging Face folder gives it. No
// LibTorch: the coordinator reads it, too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::runtime::model {

struct decoder_config {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_width = 0; ///< hidden_size / num_heads unless given
  std::int64_t max_positions = 0;
  double rope_theta = 10000;
  double rms_norm_eps = 1e-5;
  double initializer_range = 0.02;
  bool tie_embeddings = false;
  std::string dtype = "float32"; ///< of the files: float32, bfloat16, float16
  std::vector<std::int32_t> eos_token_ids; ///< generation_config.json wins
  std::int32_t bos_token_id = -1;          ///< -1: none
  std::int32_t pad_token_id = -1;          ///< -1: none
  std::string mlp = "gated_mlp"; ///< module type of the feed-forward part
};

/// Reads config.json and generation_config.json of `folder`.
/// Errors: model_unreadable (file, key), model_unsupported (architecture,
/// activation, rope scaling, bias: named with its value and what is allowed).
decoder_config read_decoder_config(const std::filesystem::path& folder);

/// Writes config.json and generation_config.json that `transformers` loads.
void write_decoder_config(const decoder_config& config,
                          const std::filesystem::path& folder);

} // namespace troupe::runtime::model
