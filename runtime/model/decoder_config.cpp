// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder_config.hpp"

#include "runtime/checkpoint/file_io.hpp"
#include "runtime/model/families.hpp"

namespace troupe::runtime::model {

namespace fs = std::filesystem;
using json = config_file::json;
using protocols::errc;

namespace {

const family& family_of(const config_file& file) {
  const auto& type = file["model_type"];
  const auto* found =
    type.is_string() ? find_family(type.get<std::string>()) : nullptr;
  if (found == nullptr)
    file.refuse(errc::model_unsupported, "model_type",
                "supported are " + family_names());
  const auto& architectures = file["architectures"];
  const auto wanted = json::array({found->architecture});
  if (!architectures.is_null() && architectures != wanted)
    file.refuse(errc::model_unsupported, "architectures",
                "supported for " + std::string{found->model_type} + " is "
                  + wanted.dump());
  return *found;
}

std::string read_dtype(const config_file& file) {
  const auto* key = file["dtype"].is_null() ? "torch_dtype" : "dtype";
  const auto& value = file[key];
  if (value.is_null())
    return "float32";
  if (value != "float32" && value != "bfloat16" && value != "float16")
    file.refuse(errc::model_unsupported, key,
                "supported are float32, bfloat16, float16");
  return value.get<std::string>();
}

/// What every family has. Absent keys have the defaults of transformers.
void read_common(const config_file& file, const family& of,
                 decoder_config& out) {
  if (!file["quantization_config"].is_null())
    file.refuse(errc::model_unsupported, "quantization_config",
                "supported are plain weights");
  file.require("attention_dropout", 0);
  const auto& absent = of.defaults;
  out.family = of.model_type;
  out.vocab_size = file.count("vocab_size");
  out.initializer_range = file.positive("initializer_range", 0.02);
  out.tie_embeddings = file.flag("tie_word_embeddings", absent.tie_embeddings);
  out.dtype = read_dtype(file);
  out.bos_token_id = file.token_id("bos_token_id", out.vocab_size, absent.bos);
  out.pad_token_id = file.token_id("pad_token_id", out.vocab_size, absent.pad);
  if (file.has("eos_token_id"))
    out.eos_token_ids = file.token_ids("eos_token_id", out.vocab_size);
  else if (absent.eos >= 0)
    out.eos_token_ids = {absent.eos};
}

json id_or_null(std::int32_t id) {
  return id < 0 ? json{} : json(id);
}

json ids_or_null(const std::vector<std::int32_t>& ids) {
  if (ids.empty())
    return {};
  return ids.size() == 1 ? json(ids.front()) : json(ids);
}

/// A Llama, or one with the feed-forward part of a plug-in.
json llama_json(const decoder_config& config) {
  const bool is_llama = config.mlp == decoder_config{}.mlp;
  const auto& row = *find_family(is_llama ? "llama" : "troupe_decoder");
  json out = {
    {"architectures", json::array({row.architecture})},
    {"model_type", row.model_type},
    {"vocab_size", config.vocab_size},
    {"hidden_size", config.hidden_size},
    {"intermediate_size", config.intermediate_size},
    {"num_hidden_layers", config.num_layers},
    {"num_attention_heads", config.num_heads},
    {"num_key_value_heads", config.num_kv_heads},
    {"head_dim", config.head_width},
    {"max_position_embeddings", config.max_positions},
    {"rope_theta", config.rope.theta},
    {"rope_scaling", nullptr},
    {"rms_norm_eps", config.norm_eps},
    {"initializer_range", config.initializer_range},
    {"hidden_act", "silu"},
    {"attention_bias", false},
    {"mlp_bias", false},
    {"attention_dropout", 0.0},
    {"tie_word_embeddings", config.tie_embeddings},
    {"use_cache", true},
  };
  if (!is_llama)
    out["troupe_mlp"] = config.mlp;
  return out;
}

void set_token_ids(const decoder_config& config, json& out) {
  out["bos_token_id"] = id_or_null(config.bos_token_id);
  out["eos_token_id"] = ids_or_null(config.eos_token_ids);
  out["pad_token_id"] = id_or_null(config.pad_token_id);
}

} // namespace

decoder_config read_decoder_config(const fs::path& folder) {
  const config_file file{folder / "config.json"};
  const auto& of = family_of(file);
  decoder_config out;
  read_common(file, of, out);
  of.read(file, of.defaults, out);
  out.config_json = file.content().dump();
  if (const auto path = folder / "generation_config.json"; fs::exists(path)) {
    const config_file generation{path};
    if (!generation["eos_token_id"].is_null())
      out.eos_token_ids = generation.token_ids("eos_token_id", out.vocab_size);
    out.generation_json = generation.content().dump();
  }
  return out;
}

void write_decoder_config(const decoder_config& config,
                          const fs::path& folder) {
  auto out = config.config_json.empty() ? llama_json(config)
                                        : json::parse(config.config_json);
  out[out.contains("dtype") ? "dtype" : "torch_dtype"] = config.dtype;
  set_token_ids(config, out);
  checkpoint::replace_file(folder / "config.json", out.dump(2) + "\n");
  auto generation = config.generation_json.empty()
                      ? json::object()
                      : json::parse(config.generation_json);
  set_token_ids(config, generation);
  checkpoint::replace_file(folder / "generation_config.json",
                           generation.dump(2) + "\n");
}

std::int64_t num_parameters(const decoder_config& c) {
  const auto norm =
    c.norm == norm_kind::layer ? 2 * c.hidden_size : c.hidden_size;
  const auto q_width = c.num_heads * c.head_width;
  const auto kv_width = c.num_kv_heads * c.head_width;
  std::int64_t layer = c.hidden_size * (2 * q_width + 2 * kv_width);
  layer += (c.qkv_bias ? q_width + 2 * kv_width : 0)
           + (c.output_bias ? c.hidden_size : 0)
           + (c.query_key_norm ? 2 * c.head_width : 0);
  const std::int64_t num_up = c.mlp == "plain_mlp" ? 1 : 2;
  layer += (num_up + 1) * c.hidden_size * c.intermediate_size
           + (c.mlp_bias ? num_up * c.intermediate_size + c.hidden_size : 0);
  layer += (c.branch_norms ? 4 : 2) * norm;
  const auto table = c.vocab_size * c.hidden_size;
  const auto positions =
    c.learned_positions
      ? (c.max_positions + *c.learned_positions) * c.hidden_size
      : 0;
  return table * (c.tie_embeddings ? 1 : 2) + positions + c.num_layers * layer
         + norm;
}

} // namespace troupe::runtime::model
