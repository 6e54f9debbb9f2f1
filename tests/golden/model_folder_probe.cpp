// SPDX-License-Identifier: Apache-2.0
//
// Writes or reads a Hugging Face folder for model_folder_golden.py.
//
//   model_folder_probe write FOLDER DTYPE tied|untied
//   model_folder_probe read FOLDER
#include "protocols/failure.hpp"
#include "runtime/checkpoint/checksum.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/model/decoder_config.hpp"

#include <nlohmann/json.hpp>

#include <iostream>
#include <list>

namespace {

using namespace troupe::runtime;
using nlohmann::json;

model::decoder_config tiny(const std::string& dtype, bool is_tied) {
  model::decoder_config out;
  out.vocab_size = 11;
  out.hidden_size = 8;
  out.intermediate_size = 12;
  out.num_layers = 2;
  out.num_heads = 4;
  out.num_kv_heads = 2;
  out.head_width = 6;
  out.max_positions = 32;
  out.rope.theta = 50000;
  out.norm_eps = 1e-6;
  out.tie_embeddings = is_tied;
  out.dtype = dtype;
  out.eos_token_ids = {3, 4};
  out.bos_token_id = 1;
  return out;
}

/// Values that every dtype holds exactly.
void write(const std::string& folder, const std::string& dtype, bool is_tied) {
  const auto config = tiny(dtype, is_tied);
  std::list<std::vector<std::byte>> memory;
  std::vector<checkpoint::tensor_view> tensors;
  const auto add = [&](std::string name, std::vector<std::int64_t> shape) {
    std::size_t count = 1;
    for (const auto extent : shape)
      count *= static_cast<std::size_t>(extent);
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>((i + memory.size()) % 17) / 16.0F - 0.5F;
    std::vector<std::uint16_t> narrow(count);
    checkpoint::tensor_view out{std::move(name), checkpoint::tensor_dtype::f32,
                                std::move(shape), nullptr, 0};
    auto bytes = std::as_bytes(std::span{values});
    if (dtype == "bfloat16") {
      out.dtype = checkpoint::tensor_dtype::bf16;
      checkpoint::f32_to_bf16(values, narrow);
      bytes = std::as_bytes(std::span{narrow});
    } else if (dtype == "float16") {
      out.dtype = checkpoint::tensor_dtype::f16;
      checkpoint::f32_to_f16(values, narrow);
      bytes = std::as_bytes(std::span{narrow});
    }
    const auto& kept = memory.emplace_back(bytes.begin(), bytes.end());
    out.data = kept.data();
    out.bytes = kept.size();
    tensors.push_back(std::move(out));
  };
  const auto width = config.hidden_size;
  const auto query = config.num_heads * config.head_width;
  const auto key = config.num_kv_heads * config.head_width;
  add("model.embed_tokens.weight", {config.vocab_size, width});
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    const auto layer = "model.layers." + std::to_string(i) + ".";
    add(layer + "input_layernorm.weight", {width});
    add(layer + "self_attn.q_proj.weight", {query, width});
    add(layer + "self_attn.k_proj.weight", {key, width});
    add(layer + "self_attn.v_proj.weight", {key, width});
    add(layer + "self_attn.o_proj.weight", {width, query});
    add(layer + "post_attention_layernorm.weight", {width});
    add(layer + "mlp.gate_proj.weight", {config.intermediate_size, width});
    add(layer + "mlp.up_proj.weight", {config.intermediate_size, width});
    add(layer + "mlp.down_proj.weight", {width, config.intermediate_size});
  }
  add("model.norm.weight", {width});
  if (!is_tied)
    add("lm_head.weight", {config.vocab_size, width});
  checkpoint::write_safetensors(folder + "/model.safetensors", tensors);
  model::write_decoder_config(config, folder);
}

void read(const std::string& folder) {
  const auto config = model::read_decoder_config(folder);
  json tensors;
  const auto reader = checkpoint::safetensors_reader::open(folder);
  for (const auto& tensor : reader.tensors()) {
    std::vector<float> values(tensor.num_elements());
    checkpoint::to_f32(tensor, values);
    tensors[tensor.name] = {{"shape", tensor.shape}, {"values", values}};
  }
  std::cout << json{{"vocab_size", config.vocab_size},
                    {"head_dim", config.head_width},
                    {"num_key_value_heads", config.num_kv_heads},
                    {"rope_theta", config.rope.theta},
                    {"rms_norm_eps", config.norm_eps},
                    {"tie_word_embeddings", config.tie_embeddings},
                    {"dtype", config.dtype},
                    {"bos_token_id", config.bos_token_id},
                    {"eos_token_id", config.eos_token_ids},
                    {"pad_token_id", config.pad_token_id},
                    {"tensors", tensors}}
            << '\n';
}

} // namespace

int main(int num_arguments, char** arguments) {
  const std::vector<std::string> given{arguments + 1,
                                       arguments + num_arguments};
  try {
    if (given.size() == 4 && given[0] == "write")
      write(given[1], given[2], given[3] == "tied");
    else if (given.size() == 2 && given[0] == "read")
      read(given[1]);
    else
      return 2;
    return 0;
  } catch (const troupe::protocols::failure& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
