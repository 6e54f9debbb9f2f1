// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder_config.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/file_io.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <optional>

namespace troupe::runtime::model {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using protocols::errc;
using protocols::failure;

namespace {

/// Of any model known; RoPE makes tables of this width before weights are seen.
constexpr std::int64_t max_head_width = 65536;

constexpr const char* family = "the Llama family (model_type \"llama\", "
                               "architectures [\"LlamaForCausalLM\"])";

/// A decoder whose feed-forward part is a plug-in's: no other program must
/// take it for a Llama.
constexpr const char* plugin_type = "troupe_decoder";
constexpr const char* plugin_key = "troupe_mlp";

/// One JSON file, with errors that name file and key.
class config_file {
public:
  explicit config_file(fs::path file) : file_(std::move(file)) {
    try {
      const checkpoint::mapped_file mapped{file_};
      content_ = json::parse(mapped.text());
    } catch (const failure& error) {
      throw failure{errc::model_unreadable, error.what()};
    } catch (const json::exception& error) {
      throw failure{errc::model_unreadable,
                    file_.string() + " is no JSON: " + error.what()};
    }
    if (!content_.is_object())
      throw failure{errc::model_unreadable,
                    file_.string() + " holds no JSON object"};
  }

  /// Returns the value, null if the key is absent.
  [[nodiscard]] const json& operator[](const std::string& path) const {
    static const json null;
    const auto pointer = json::json_pointer{"/" + path};
    return content_.contains(pointer) ? content_.at(pointer) : null;
  }

  [[nodiscard]] bool has(const char* key) const {
    return content_.contains(key);
  }

  [[noreturn]] void refuse(errc code, const std::string& key,
                           const std::string& allowed) const {
    const auto& value = (*this)[key];
    throw failure{code, file_.string() + ": " + key + " is "
                          + (value.is_null() ? "missing" : value.dump()) + "; "
                          + allowed};
  }

  [[nodiscard]] std::int64_t
  count(const char* key, std::optional<std::int64_t> absent = {}) const {
    const auto& value = (*this)[key];
    if (value.is_null() && absent)
      return *absent;
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1
        || value.get<std::int64_t>() > std::numeric_limits<std::int32_t>::max())
      refuse(errc::model_unreadable, key, "an integer from 1 is needed");
    return value.get<std::int64_t>();
  }

  [[nodiscard]] double positive(const std::string& key, double absent) const {
    const auto& value = (*this)[key];
    if (value.is_null())
      return absent;
    if (!value.is_number() || !(value.get<double>() > 0)
        || !(static_cast<float>(value.get<double>()) > 0)
        || !std::isfinite(static_cast<float>(value.get<double>())))
      refuse(errc::model_unreadable, key,
             "a number above 0 that 32 bits hold is needed");
    return value.get<double>();
  }

  [[nodiscard]] bool flag(const char* key) const {
    const auto& value = (*this)[key];
    if (!value.is_null() && !value.is_boolean())
      refuse(errc::model_unreadable, key, "true or false is needed");
    return value.is_boolean() && value.get<bool>();
  }

  /// Returns the ids of an integer or a list; null has none.
  [[nodiscard]] std::vector<std::int32_t>
  token_ids(const char* key, std::int64_t vocab_size) const {
    const auto& value = (*this)[key];
    std::vector<std::int32_t> out;
    const auto add = [&](const json& id) {
      if (!id.is_number_integer() || id.get<std::int64_t>() < 0
          || id.get<std::int64_t>() >= vocab_size)
        refuse(errc::model_unreadable, key,
               "ids from 0 to " + std::to_string(vocab_size - 1)
                 + " are allowed");
      out.push_back(id.get<std::int32_t>());
    };
    if (value.is_array())
      for (const auto& id : value)
        add(id);
    else if (!value.is_null())
      add(value);
    return out;
  }

  [[nodiscard]] std::int32_t token_id(const char* key, std::int64_t vocab_size,
                                      std::int32_t absent) const {
    if (!has(key))
      return absent;
    const auto ids = token_ids(key, vocab_size);
    return ids.empty() ? -1 : ids.front();
  }

private:
  fs::path file_;
  json content_;
};

void require_family(const config_file& file) {
  const bool is_plugin = file["model_type"] == plugin_type;
  if (!is_plugin && file["model_type"] != "llama")
    file.refuse(errc::model_unsupported, "model_type",
                std::string{"supported is "} + family);
  const auto& architectures = file["architectures"];
  if (!is_plugin && !architectures.is_null()
      && architectures != json::array({"LlamaForCausalLM"}))
    file.refuse(errc::model_unsupported, "architectures",
                std::string{"supported is "} + family);
  if (is_plugin && !file[plugin_key].is_string())
    file.refuse(errc::model_unreadable, plugin_key,
                "the module type of a plug-in is needed");
  if (!file["hidden_act"].is_null() && file["hidden_act"] != "silu")
    file.refuse(errc::model_unsupported, "hidden_act", "supported is \"silu\"");
  for (const auto* key : {"attention_bias", "mlp_bias"})
    if (file.flag(key))
      file.refuse(errc::model_unsupported, key, "supported is false");
  if (!file["attention_dropout"].is_null() && file["attention_dropout"] != 0)
    file.refuse(errc::model_unsupported, "attention_dropout", "supported is 0");
  if (!file["quantization_config"].is_null())
    file.refuse(errc::model_unsupported, "quantization_config",
                "supported are plain weights");
}

/// transformers 4 writes rope_theta and rope_scaling, 5 rope_parameters.
double read_rope_theta(const config_file& file) {
  const auto is_plain = [&](const std::string& block) {
    const auto& value = file[block];
    if (value.is_null())
      return true;
    if (!value.is_object())
      return false;
    for (const auto* key : {"rope_type", "type"})
      if (value.contains(key) && value[key] != "default")
        return false;
    return !value.contains("partial_rotary_factor")
           || value["partial_rotary_factor"] == 1;
  };
  for (const auto* block : {"rope_scaling", "rope_parameters"})
    if (!is_plain(block))
      file.refuse(errc::model_unsupported, block,
                  "supported is RoPE without scaling: null, or rope_type "
                  "\"default\"");
  const auto* nested = "rope_parameters/rope_theta";
  return file[nested].is_null() ? file.positive("rope_theta", 10000)
                                : file.positive(nested, 10000);
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

void read_sizes(const config_file& file, decoder_config& out) {
  out.vocab_size = file.count("vocab_size");
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
  if (file["head_dim"].is_null() && out.hidden_size % out.num_heads != 0)
    file.refuse(errc::model_unreadable, "num_attention_heads",
                "without head_dim it must divide hidden_size, "
                  + std::to_string(out.hidden_size));
  out.head_width = file.count("head_dim", out.hidden_size / out.num_heads);
  if (out.head_width % 2 != 0)
    file.refuse(errc::model_unreadable, "head_dim",
                "RoPE needs an even width, not "
                  + std::to_string(out.head_width));
  if (out.head_width > max_head_width)
    file.refuse(errc::model_unreadable, "head_dim",
                "an even width up to " + std::to_string(max_head_width)
                  + " is allowed");
}

} // namespace

decoder_config read_decoder_config(const fs::path& folder) {
  const config_file file{folder / "config.json"};
  require_family(file);
  decoder_config out;
  read_sizes(file, out);
  out.rope_theta = read_rope_theta(file);
  // Absent keys have the defaults that transformers gives them.
  out.rms_norm_eps = file.positive("rms_norm_eps", 1e-6);
  out.initializer_range = file.positive("initializer_range", 0.02);
  out.tie_embeddings = file.flag("tie_word_embeddings");
  out.dtype = read_dtype(file);
  out.bos_token_id = file.token_id("bos_token_id", out.vocab_size, 1);
  out.pad_token_id = file.token_id("pad_token_id", out.vocab_size, -1);
  out.eos_token_ids = file.has("eos_token_id")
                        ? file.token_ids("eos_token_id", out.vocab_size)
                        : std::vector<std::int32_t>{2};
  if (file["model_type"] == plugin_type)
    out.mlp = file[plugin_key].get<std::string>();
  if (const auto path = folder / "generation_config.json"; fs::exists(path)) {
    const config_file generation{path};
    if (!generation["eos_token_id"].is_null())
      out.eos_token_ids = generation.token_ids("eos_token_id", out.vocab_size);
  }
  return out;
}

void write_decoder_config(const decoder_config& config,
                          const fs::path& folder) {
  const auto optional_id = [](std::int32_t id) {
    return id < 0 ? json{} : json(id);
  };
  const auto& eos = config.eos_token_ids;
  const auto eos_json = eos.empty()       ? json{}
                        : eos.size() == 1 ? json(eos.front())
                                          : json(eos);
  const bool is_llama = config.mlp == decoder_config{}.mlp;
  json out = {
    {"architectures",
     json::array({is_llama ? "LlamaForCausalLM" : "TroupeDecoder"})},
    {"model_type", is_llama ? "llama" : plugin_type},
    {"vocab_size", config.vocab_size},
    {"hidden_size", config.hidden_size},
    {"intermediate_size", config.intermediate_size},
    {"num_hidden_layers", config.num_layers},
    {"num_attention_heads", config.num_heads},
    {"num_key_value_heads", config.num_kv_heads},
    {"head_dim", config.head_width},
    {"max_position_embeddings", config.max_positions},
    {"rope_theta", config.rope_theta},
    {"rope_scaling", nullptr},
    {"rms_norm_eps", config.rms_norm_eps},
    {"initializer_range", config.initializer_range},
    {"hidden_act", "silu"},
    {"attention_bias", false},
    {"mlp_bias", false},
    {"attention_dropout", 0.0},
    {"tie_word_embeddings", config.tie_embeddings},
    {"use_cache", true},
    {"torch_dtype", config.dtype},
    {"bos_token_id", optional_id(config.bos_token_id)},
    {"eos_token_id", eos_json},
    {"pad_token_id", optional_id(config.pad_token_id)},
  };
  if (!is_llama)
    out[plugin_key] = config.mlp;
  checkpoint::replace_file(folder / "config.json", out.dump(2) + "\n");
  const json generation = {
    {"bos_token_id", optional_id(config.bos_token_id)},
    {"eos_token_id", eos_json},
    {"pad_token_id", optional_id(config.pad_token_id)},
  };
  checkpoint::replace_file(folder / "generation_config.json",
                           generation.dump(2) + "\n");
}

} // namespace troupe::runtime::model
