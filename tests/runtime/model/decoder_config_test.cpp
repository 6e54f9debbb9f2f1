// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder_config.hpp"

#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::model;
using nlohmann::json;
using troupe::tests::failure_of;
using troupe::tests::temporary_folder;
using troupe::tests::write_file;

namespace {

json smollm2() {
  return json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152,
    "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
    "rope_theta": 100000.0, "rope_scaling": null, "hidden_act": "silu",
    "attention_bias": false, "mlp_bias": false, "initializer_range": 0.04,
    "tie_word_embeddings": true, "bos_token_id": 1, "eos_token_id": 2,
    "pad_token_id": 2, "torch_dtype": "bfloat16"})");
}

decoder_config read_with(const temporary_folder& folder, const json& changes) {
  auto content = smollm2();
  for (const auto& [key, value] : changes.items())
    if (value == "absent")
      content.erase(key);
    else
      content[key] = value;
  write_file(folder / "config.json", content.dump());
  return read_decoder_config(folder.path());
}

} // namespace

TEST_SUITE_BEGIN("runtime.model.decoder_config");

TEST_CASE("SmolLM2's shape is read") {
  const temporary_folder folder;
  const auto config = read_with(folder, json::object());
  CHECK(config.vocab_size == 49152);
  CHECK(config.hidden_size == 576);
  CHECK(config.intermediate_size == 1536);
  CHECK(config.num_layers == 30);
  CHECK(config.num_heads == 9);
  CHECK(config.num_kv_heads == 3);
  CHECK(config.head_width == 64);
  CHECK(config.max_positions == 8192);
  CHECK(config.rope_theta == 100000);
  CHECK(config.rms_norm_eps == 1e-5);
  CHECK(config.initializer_range == 0.04);
  CHECK(config.tie_embeddings);
  CHECK(config.dtype == "bfloat16");
  CHECK(config.bos_token_id == 1);
  CHECK(config.pad_token_id == 2);
  CHECK(config.eos_token_ids == std::vector<std::int32_t>{2});
  CHECK(config.mlp == "gated_mlp");
}

TEST_CASE("spellings of other versions are read") {
  const temporary_folder folder;
  const auto config = read_with(
    folder,
    {{"rope_theta", "absent"},
     {"rope_scaling", "absent"},
     {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5e5}}},
     {"torch_dtype", "absent"},
     {"dtype", "float16"},
     {"head_dim", 128},
     {"num_key_value_heads", "absent"},
     {"eos_token_id", {7, 8}},
     {"pad_token_id", nullptr},
     {"bos_token_id", "absent"}});
  CHECK(config.rope_theta == 5e5);
  CHECK(config.dtype == "float16");
  CHECK(config.head_width == 128);
  CHECK(config.num_kv_heads == 9);
  CHECK(config.eos_token_ids == std::vector<std::int32_t>{7, 8});
  CHECK(config.pad_token_id == -1);
  CHECK(config.bos_token_id == 1);
}

TEST_CASE("generation_config.json wins for the stop ids") {
  const temporary_folder folder;
  write_file(folder / "generation_config.json", R"({"eos_token_id": [5, 2]})");
  CHECK(read_with(folder, json::object()).eos_token_ids
        == std::vector<std::int32_t>{5, 2});
  write_file(folder / "generation_config.json", R"({"top_p": 0.9})");
  CHECK(read_with(folder, json::object()).eos_token_ids
        == std::vector<std::int32_t>{2});
}

TEST_CASE("what is not of the family is refused with file, key and value") {
  const temporary_folder folder;
  const auto file = (folder / "config.json").string();
  struct row {
    json change;
    std::string expected;
  };
  const std::string llama =
    "; supported is the Llama family (model_type \"llama\", "
    "architectures [\"LlamaForCausalLM\"])";
  const std::string rope = "; supported is RoPE without scaling: null, or "
                           "rope_type \"default\"";
  const std::vector<row> rows{
    {{{"model_type", "qwen2"}},
     "model_unsupported: " + file + ": model_type is \"qwen2\"" + llama},
    {{{"architectures", {"LlamaForSequenceClassification"}}},
     "model_unsupported: " + file
       + ": architectures is [\"LlamaForSequenceClassification\"]" + llama},
    {{{"hidden_act", "gelu"}},
     "model_unsupported: " + file
       + ": hidden_act is \"gelu\"; supported is \"silu\""},
    {{{"attention_bias", true}},
     "model_unsupported: " + file
       + ": attention_bias is true; supported is false"},
    {{{"mlp_bias", true}},
     "model_unsupported: " + file + ": mlp_bias is true; supported is false"},
    {{{"attention_dropout", 0.1}},
     "model_unsupported: " + file
       + ": attention_dropout is 0.1; supported is 0"},
    {{{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}}}},
     "model_unsupported: " + file
       + ": rope_scaling is {\"factor\":8,\"rope_type\":\"llama3\"}" + rope},
    {{{"rope_parameters", {{"rope_type", "yarn"}}}},
     "model_unsupported: " + file
       + ": rope_parameters is {\"rope_type\":\"yarn\"}" + rope},
    {{{"torch_dtype", "float64"}},
     "model_unsupported: " + file
       + ": torch_dtype is \"float64\"; supported are float32, bfloat16, "
         "float16"},
    {{{"quantization_config", {{"bits", 4}}}},
     "model_unsupported: " + file
       + ": quantization_config is {\"bits\":4}; supported are plain weights"},
    {{{"hidden_size", "absent"}},
     "model_unreadable: " + file
       + ": hidden_size is missing; an integer from 1 is needed"},
    {{{"vocab_size", -3}},
     "model_unreadable: " + file
       + ": vocab_size is -3; an integer from 1 is needed"},
    {{{"num_key_value_heads", 2}},
     "model_unreadable: " + file
       + ": num_key_value_heads is 2; it must divide num_attention_heads, 9"},
    {{{"hidden_size", 577}},
     "model_unreadable: " + file
       + ": num_attention_heads is 9; without head_dim it must divide "
         "hidden_size, 577"},
    {{{"head_dim", 33}},
     "model_unreadable: " + file
       + ": head_dim is 33; RoPE needs an even width, not 33"},
    {{{"head_dim", 1000000000}},
     "model_unreadable: " + file
       + ": head_dim is 1000000000; an even width up to 65536 is allowed"},
    {{{"rms_norm_eps", 1e300}},
     "model_unreadable: " + file
       + ": rms_norm_eps is 1e+300; a number above 0 that 32 bits hold is "
         "needed"},
    {{{"rms_norm_eps", 0}},
     "model_unreadable: " + file
       + ": rms_norm_eps is 0; a number above 0 that 32 bits hold is needed"},
    {{{"eos_token_id", 49152}},
     "model_unreadable: " + file
       + ": eos_token_id is 49152; ids from 0 to 49151 are allowed"},
    {{{"tie_word_embeddings", 1}},
     "model_unreadable: " + file
       + ": tie_word_embeddings is 1; true or false is needed"},
    {{{"model_type", "troupe_decoder"}},
     "model_unreadable: " + file
       + ": troupe_mlp is missing; the module type of a plug-in is needed"},
  };
  for (const auto& [change, expected] : rows)
    CHECK(failure_of([&] { read_with(folder, change); }) == expected);
}

TEST_CASE("missing and broken files are named") {
  const temporary_folder folder;
  const auto file = (folder / "config.json").string();
  const auto read = [&] { read_decoder_config(folder.path()); };
  CHECK(failure_of(read)
        == "model_unreadable: cannot open " + file
             + ": No such file or directory");
  write_file(file, "{\"model_type\": ");
  CHECK(failure_of(read).starts_with("model_unreadable: " + file
                                     + " is no JSON: "));
  write_file(file, "[1]");
  CHECK(failure_of(read)
        == "model_unreadable: " + file + " holds no JSON object");
}

TEST_CASE("what is written is read back") {
  const temporary_folder folder;
  auto config = read_with(folder, {{"eos_token_id", {2, 5}}});
  SUBCASE("a Llama") {}
  SUBCASE("a Llama without pad and stop ids") {
    config.eos_token_ids.clear();
    config.pad_token_id = -1;
  }
  SUBCASE("a decoder with the feed-forward part of a plug-in") {
    config.mlp = "experts";
  }
  write_decoder_config(config, folder.path());
  const auto found = read_decoder_config(folder.path());
  CHECK(found.vocab_size == config.vocab_size);
  CHECK(found.head_width == config.head_width);
  CHECK(found.num_kv_heads == config.num_kv_heads);
  CHECK(found.rope_theta == config.rope_theta);
  CHECK(found.rms_norm_eps == config.rms_norm_eps);
  CHECK(found.tie_embeddings == config.tie_embeddings);
  CHECK(found.dtype == config.dtype);
  CHECK(found.eos_token_ids == config.eos_token_ids);
  CHECK(found.bos_token_id == config.bos_token_id);
  CHECK(found.pad_token_id == config.pad_token_id);
  CHECK(found.mlp == config.mlp);
}

TEST_SUITE_END();
