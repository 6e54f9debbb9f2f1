// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder_config.hpp"

#include "runtime/model/families.hpp"

#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::model;
using nlohmann::json;
using troupe::tests::contains;
using troupe::tests::failure_of;
using troupe::tests::read_file;
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
  CHECK(config.rope.theta == 100000);
  CHECK(config.norm_eps == 1e-5);
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
  CHECK(config.rope.theta == 5e5);
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
  const std::vector<row> rows{
    {{{"model_type", "mamba"}},
     "model_unsupported: " + file + ": model_type is \"mamba\"; supported are "
       + family_names()},
    {{{"architectures", {"LlamaForSequenceClassification"}}},
     "model_unsupported: " + file
       + ": architectures is [\"LlamaForSequenceClassification\"]; supported "
         "for llama is [\"LlamaForCausalLM\"]"},
    {{{"hidden_act", "laplace"}},
     "model_unsupported: " + file
       + ": hidden_act is \"laplace\"; supported are \"silu\", \"swish\", "
         "\"gelu\", \"gelu_new\", \"gelu_pytorch_tanh\", \"relu\""},
    {{{"pretraining_tp", 2}},
     "model_unsupported: " + file + ": pretraining_tp is 2; supported is 1"},
    {{{"attention_dropout", 0.1}},
     "model_unsupported: " + file
       + ": attention_dropout is 0.1; supported is 0"},
    {{{"rope_scaling", {{"rope_type", "longrope"}, {"factor", 8}}}},
     "model_unsupported: " + file
       + ": rope_scaling/rope_type is \"longrope\"; supported are default, "
         "linear, dynamic, llama3, yarn"},
    {{{"rope_scaling", {{"type", "linear"}}}},
     "model_unreadable: " + file
       + ": rope_scaling/factor is missing; a number above 0 that 32 bits hold "
         "is needed"},
    {{{"rope_scaling",
       {{"rope_type", "llama3"},
        {"factor", 8},
        {"low_freq_factor", 4},
        {"high_freq_factor", 4}}}},
     "model_unreadable: " + file
       + ": rope_scaling/high_freq_factor is 4; it must be above "
         "low_freq_factor, 4"},
    {{{"rope_scaling", "none"}},
     "model_unreadable: " + file
       + ": rope_scaling is \"none\"; null or an object is needed"},
    {{{"partial_rotary_factor", 0.4}},
     "model_unsupported: " + file
       + ": partial_rotary_factor is 0.4; of head_dim, 64, an even number from "
         "2 is to be rotated, not 25"},
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
    {{{"model_type", "troupe_decoder"}, {"architectures", "absent"}},
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

TEST_CASE("scaled RoPE is read in both spellings") {
  const temporary_folder folder;
  const json llama3{{"factor", 8.0},
                    {"low_freq_factor", 1.0},
                    {"high_freq_factor", 4.0},
                    {"original_max_position_embeddings", 8192},
                    {"rope_type", "llama3"}};
  auto within = llama3;
  within["rope_theta"] = 5e5;
  const auto old = read_with(folder, {{"rope_theta", 5e5},
                                      {"rope_scaling", llama3},
                                      {"max_position_embeddings", 131072}});
  const auto now = read_with(folder, {{"rope_theta", "absent"},
                                      {"rope_scaling", "absent"},
                                      {"rope_parameters", within},
                                      {"max_position_embeddings", 131072}});
  CHECK(old.rope == now.rope);
  CHECK(now.rope
        == rope_config{.kind = rope_kind::llama3,
                       .theta = 5e5,
                       .width = 64,
                       .factor = 8,
                       .original_positions = 8192,
                       .low_frequency_factor = 1,
                       .high_frequency_factor = 4});
  CHECK(now.max_positions == 131072);
}

TEST_CASE("positions grow where RoPE is stretched") {
  const temporary_folder folder;
  const auto positions = [&](const json& scaling) {
    return read_with(folder, {{"rope_scaling", scaling}}).max_positions;
  };
  CHECK(positions({{"type", "linear"}, {"factor", 2.5}}) == 20480);
  CHECK(positions({{"type", "dynamic"}, {"factor", 4}}) == 32768);
  // Within what the config says already, and beyond it.
  CHECK(positions({{"type", "yarn"},
                   {"factor", 2},
                   {"original_max_position_embeddings", 4096}})
        == 8192);
  CHECK(positions({{"type", "yarn"}, {"factor", 4}}) == 32768);
}

TEST_CASE("what a family adds to Llama is read") {
  const temporary_folder folder;
  const auto as = [&](const char* type, const char* architecture,
                      json changes) {
    changes["model_type"] = type;
    changes["architectures"] = {architecture};
    return read_with(folder, changes);
  };
  const auto mistral =
    as("mistral", "MistralForCausalLM", {{"sliding_window", 100}});
  CHECK(mistral.layer(29) == layer_config{.window = 100});
  CHECK(as("mistral", "MistralForCausalLM", json::object()).layer(0).window
        == 4096);
  CHECK(as("mistral", "MistralForCausalLM", {{"sliding_window", nullptr}})
          .layer(0)
          .window
        == 0);

  const auto qwen2 = as("qwen2", "Qwen2ForCausalLM",
                        {{"use_sliding_window", true},
                         {"sliding_window", 64},
                         {"max_window_layers", 20},
                         {"eos_token_id", "absent"}});
  CHECK(qwen2.qkv_bias);
  CHECK_FALSE(qwen2.output_bias);
  CHECK(qwen2.layer(19).window == 0);
  CHECK(qwen2.layer(20).window == 64);
  CHECK(qwen2.eos_token_ids.empty());
  CHECK(
    as("qwen2", "Qwen2ForCausalLM", {{"sliding_window", 64}}).layer(29).window
    == 0);

  const auto qwen3 = as("qwen3", "Qwen3ForCausalLM", json::object());
  CHECK(qwen3.query_key_norm);
  CHECK(qwen3.head_width == 128);

  auto smollm3 =
    as("smollm3", "SmolLM3ForCausalLM", {{"rope_theta", "absent"}});
  CHECK(smollm3.rope.theta == 2e6);
  CHECK(smollm3.layer(2).positions == layer_positions::rope);
  CHECK(smollm3.layer(3).positions == layer_positions::none);
  std::vector<int> list(30, 1);
  list[5] = 0;
  smollm3 = as("smollm3", "SmolLM3ForCausalLM",
               {{"no_rope_layers", list},
                {"use_sliding_window", true},
                {"sliding_window", 32}});
  CHECK(smollm3.layer(3) == layer_config{});
  CHECK(smollm3.layer(5)
        == layer_config{.window = 32, .positions = layer_positions::none});
}

TEST_CASE("Gemma's norms, caps, scales and layers are read") {
  const temporary_folder folder;
  const auto as = [&](const char* type, const char* architecture,
                      json changes) {
    changes["model_type"] = type;
    changes["architectures"] = {architecture};
    changes["hidden_act"] = "absent";
    return read_with(folder, changes);
  };
  const auto two = as("gemma2", "Gemma2ForCausalLM",
                      {{"query_pre_attn_scalar", 144},
                       {"sliding_window", 50},
                       {"tie_word_embeddings", "absent"},
                       {"final_logit_softcapping", nullptr}});
  CHECK(two.norm == norm_kind::rms_plus_one);
  CHECK(two.branch_norms);
  CHECK_FALSE(two.query_key_norm);
  CHECK(two.activation == troupe::kernels::activation::gelu_tanh);
  CHECK(two.embedding_scale == 24);
  CHECK(two.score_scale == 1.0 / 12);
  CHECK(two.score_softcap == 50);
  CHECK(two.logit_softcap == 0);
  CHECK(two.head_width == 256);
  CHECK(two.tie_embeddings);
  CHECK(two.layer(0) == layer_config{.window = 50});
  CHECK(two.layer(1) == layer_config{});

  const auto three =
    as("gemma3_text", "Gemma3ForCausalLM",
       {{"sliding_window", 50},
        {"rope_theta", 2e6},
        {"rope_local_base_freq", 3e4},
        {"rope_scaling", {{"type", "linear"}, {"factor", 8}}}});
  CHECK(three.query_key_norm);
  CHECK(three.score_softcap == 0);
  CHECK(
    three.layer(4)
    == layer_config{.window = 50, .positions = layer_positions::local_rope});
  CHECK(three.layer(5) == layer_config{});
  CHECK(three.rope.theta == 2e6);
  CHECK(three.rope.factor == 8);
  CHECK(three.local_rope.theta == 3e4);
  CHECK(three.local_rope.kind == rope_kind::standard);
  CHECK(three.max_positions == 8 * 8192);

  CHECK(failure_of([&] {
          as("gemma3_text", "Gemma3ForCausalLM",
             {{"use_bidirectional_attention", true}});
        })
        == "model_unsupported: " + (folder / "config.json").string()
             + ": use_bidirectional_attention is true; supported is false");
}

TEST_CASE("the keys of GPT-2, OPT and GPT-NeoX are read") {
  const temporary_folder folder;
  const auto read = [&](const json& content) {
    write_file(folder / "config.json", content.dump());
    return read_decoder_config(folder.path());
  };
  json gpt2{{"model_type", "gpt2"}, {"architectures", {"GPT2LMHeadModel"}},
            {"vocab_size", 50257},  {"n_embd", 768},
            {"n_layer", 12},        {"n_head", 12},
            {"n_positions", 1024},  {"resid_pdrop", 0.1}};
  auto config = read(gpt2);
  CHECK(config.norm == norm_kind::layer);
  CHECK(config.mlp == "plain_mlp");
  CHECK(config.activation == troupe::kernels::activation::gelu_tanh);
  CHECK(config.intermediate_size == 3072);
  CHECK(config.max_positions == 1024);
  CHECK(config.learned_positions == 0);
  CHECK(config.layer(3).positions == layer_positions::none);
  CHECK(config.qkv_bias);
  CHECK(config.mlp_bias);
  CHECK(config.tie_embeddings);
  CHECK(config.eos_token_ids == std::vector<std::int32_t>{50256});
  gpt2["scale_attn_by_inverse_layer_idx"] = true;
  CHECK(read(gpt2).layer(3).score_factor == 0.25);
  gpt2["add_cross_attention"] = true;
  CHECK(contains(failure_of([&] { read(gpt2); }),
                 "add_cross_attention is true; supported is false"));

  json opt{{"model_type", "opt"},     {"architectures", {"OPTForCausalLM"}},
           {"vocab_size", 50272},     {"hidden_size", 768},
           {"num_hidden_layers", 12}, {"num_attention_heads", 12},
           {"ffn_dim", 3000},         {"max_position_embeddings", 2048}};
  config = read(opt);
  CHECK(config.activation == troupe::kernels::activation::relu);
  CHECK(config.intermediate_size == 3000);
  CHECK(config.learned_positions == 2);
  opt["word_embed_proj_dim"] = 512;
  CHECK(contains(failure_of([&] { read(opt); }),
                 "word_embed_proj_dim is 512; supported is 768"));
  opt.erase("word_embed_proj_dim");
  opt["do_layer_norm_before"] = false;
  CHECK(contains(failure_of([&] { read(opt); }),
                 "do_layer_norm_before is false; supported is true"));

  json neox{
    {"model_type", "gpt_neox"},  {"architectures", {"GPTNeoXForCausalLM"}},
    {"vocab_size", 50304},       {"hidden_size", 512},
    {"intermediate_size", 2048}, {"num_hidden_layers", 6},
    {"num_attention_heads", 8},  {"max_position_embeddings", 2048},
    {"rotary_emb_base", 20000},  {"rotary_pct", 0.25}};
  config = read(neox);
  CHECK(config.parallel_residual);
  CHECK(config.rope == rope_config{.theta = 20000, .width = 16});
  CHECK(config.activation == troupe::kernels::activation::gelu);
  neox["rotary_pct"] = 0.3;
  CHECK(contains(failure_of([&] { read(neox); }),
                 "rotary_pct is 0.3; of head_dim, 64, an even number from 2 is "
                 "to be rotated, not 19"));
}

TEST_CASE("lists of layers that do not fit are refused") {
  const temporary_folder folder;
  const auto file = (folder / "config.json").string();
  const auto refusal = [&](const json& changes) {
    return failure_of([&] { read_with(folder, changes); });
  };
  const json qwen{{"model_type", "qwen3"},
                  {"architectures", {"Qwen3ForCausalLM"}}};
  auto changes = qwen;
  changes["layer_types"] = {"full_attention"};
  CHECK(refusal(changes)
        == "model_unsupported: " + file
             + ": layer_types is [\"full_attention\"]; supported is a list of "
               "\"full_attention\" and \"sliding_attention\", one for each of "
               "30 layers");
  changes["layer_types"] = std::vector<std::string>(30, "linear_attention");
  CHECK(refusal(changes).ends_with("one for each of 30 layers"));
  changes["layer_types"] = std::vector<std::string>(30, "sliding_attention");
  CHECK(refusal(changes)
        == "model_unreadable: " + file
             + ": sliding_window is missing; layer 0 slides, so a window is "
               "needed");
  changes = {{"model_type", "smollm3"},
             {"architectures", {"SmolLM3ForCausalLM"}},
             {"no_rope_layers", {1, 0}}};
  CHECK(refusal(changes)
        == "model_unreadable: " + file
             + ": no_rope_layers is [1,0]; a list of 0 and 1 for each of 30 "
               "layers is needed");
}

TEST_CASE("a decoder made from nothing is written as it is read") {
  const temporary_folder folder;
  auto config = read_with(folder, {{"eos_token_id", {2, 5}}});
  config.config_json.clear();
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
  CHECK(found.rope.theta == config.rope.theta);
  CHECK(found.norm_eps == config.norm_eps);
  CHECK(found.tie_embeddings == config.tie_embeddings);
  CHECK(found.dtype == config.dtype);
  CHECK(found.eos_token_ids == config.eos_token_ids);
  CHECK(found.bos_token_id == config.bos_token_id);
  CHECK(found.pad_token_id == config.pad_token_id);
  CHECK(found.mlp == config.mlp);
}

TEST_CASE("what was read is written with its other keys") {
  const temporary_folder from, to;
  write_file(from / "generation_config.json",
             R"({"top_p": 0.9, "eos_token_id": [5, 2]})");
  auto config = read_with(
    from, {{"torch_dtype", "absent"}, {"dtype", "bfloat16"}, {"mine", {1, 2}}});
  config.dtype = "float32";
  write_decoder_config(config, to.path());

  const auto written = json::parse(read_file(to / "config.json"));
  CHECK(written["mine"] == json{1, 2});
  CHECK(written["dtype"] == "float32");
  CHECK_FALSE(written.contains("torch_dtype"));
  const auto generation = json::parse(read_file(to / "generation_config.json"));
  CHECK(generation["top_p"] == 0.9);
  CHECK(generation["eos_token_id"] == json{5, 2});
  CHECK(read_decoder_config(to.path()).eos_token_ids == config.eos_token_ids);
}

TEST_SUITE_END();
