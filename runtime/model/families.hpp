// SPDX-License-Identifier: Apache-2.0
//
// The model families: what the keys of their config.json mean for the one
// decoder, and how their files name and lay out its parameters. A further
// family is one row of the table in families.cpp, with a function that reads
// its keys where no other family's will do.
#pragma once

#include "runtime/model/config_file.hpp"
#include "runtime/model/decoder_config.hpp"
#include "runtime/model/file_layout.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::runtime::model {

/// What transformers takes where config.json lacks a key; -1: no such token.
struct family_defaults {
  std::int32_t bos = -1, eos = -1, pad = -1;
  bool tie_embeddings = false;
  double rope_theta = 10000;
};

struct family {
  std::string_view model_type;
  std::string_view architecture;
  family_defaults defaults;
  /// Reads what is the family's own; the rest is done: vocab_size, token ids,
  /// tying, initializer_range, dtype. Errors: as read_decoder_config.
  void (*read)(const config_file& file, const family_defaults& defaults,
               decoder_config& out);
  const file_layout* layout;
};

/// Returns the row, null if there is none.
const family* find_family(std::string_view model_type);

/// All of them, as an error names them: gemma2, gemma3_text, ...
std::string family_names();

// -- readers, one for each group of families that share their keys ------------

void read_llama(const config_file&, const family_defaults&, decoder_config&);
void read_mistral(const config_file&, const family_defaults&, decoder_config&);
void read_qwen2(const config_file&, const family_defaults&, decoder_config&);
void read_qwen3(const config_file&, const family_defaults&, decoder_config&);
void read_smollm3(const config_file&, const family_defaults&, decoder_config&);
void read_plugin(const config_file&, const family_defaults&, decoder_config&);
void read_gemma2(const config_file&, const family_defaults&, decoder_config&);
void read_gemma3(const config_file&, const family_defaults&, decoder_config&);
void read_gpt2(const config_file&, const family_defaults&, decoder_config&);
void read_opt(const config_file&, const family_defaults&, decoder_config&);
void read_gpt_neox(const config_file&, const family_defaults&, decoder_config&);

extern const file_layout gpt2_layout, opt_layout, neox_layout;

// -- what readers share -------------------------------------------------------

/// Sizes, norm_eps and activation under the keys of Llama.
void read_llama_sizes(const config_file& file, decoder_config& out,
                      std::optional<std::int64_t> head_width = {});

/// hidden_size / num_heads. Errors: model_unreadable if it is not whole.
std::int64_t even_share(const config_file& file, const char* heads_key,
                        const decoder_config& out);

/// The activation under `key`, which may be absent.
void read_activation(const config_file& file, const std::string& key,
                     decoder_config& out);

/// Gives `window` keys to the layers that layer_types names sliding_attention,
/// or that `slides` picks where that key is absent. A window of 0 is none.
void read_windows(const config_file& file, std::int64_t window,
                  const std::function<bool(std::int64_t layer)>& slides,
                  decoder_config& out);

/// Where a family's RoPE is described.
struct rope_keys {
  std::string block = ""; ///< an object; empty: rope_scaling, or
                          ///< rope_parameters, as transformers 4 and 5 write
  std::string theta = "rope_theta"; ///< if the object has none
  double default_theta = 10000;
  std::string share = "partial_rotary_factor"; ///< as theta
  double default_share = 1;
};

/// Reads RoPE; num_positions grows where it stretches them.
/// Errors: model_unsupported for a type that we lack, named with those known.
rope_config read_rope(const config_file& file, const rope_keys& keys,
                      std::int64_t head_width, std::int64_t& num_positions);

} // namespace troupe::runtime::model
