// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/families.hpp"

#include <array>

namespace troupe::runtime::model {

namespace {

const std::array families{
  family{
    "llama", "LlamaForCausalLM", {.bos = 1, .eos = 2}, read_llama, nullptr},
  family{"mistral",
         "MistralForCausalLM",
         {.bos = 1, .eos = 2},
         read_mistral,
         nullptr},
  family{"qwen2", "Qwen2ForCausalLM", {}, read_qwen2, nullptr},
  family{"qwen3", "Qwen3ForCausalLM", {}, read_qwen3, nullptr},
  family{"smollm3",
         "SmolLM3ForCausalLM",
         {.bos = 128000,
          .eos = 128001,
          .pad = 128004,
          .tie_embeddings = true,
          .rope_theta = 2e6},
         read_smollm3,
         nullptr},
  family{"gemma2",
         "Gemma2ForCausalLM",
         {.bos = 2, .eos = 1, .pad = 0, .tie_embeddings = true},
         read_gemma2,
         nullptr},
  family{
    "gemma3_text",
    "Gemma3ForCausalLM",
    {.bos = 2, .eos = 1, .pad = 0, .tie_embeddings = true, .rope_theta = 1e6},
    read_gemma3,
    nullptr},
  family{"gpt2",
         "GPT2LMHeadModel",
         {.bos = 50256, .eos = 50256, .tie_embeddings = true},
         read_gpt2,
         &gpt2_layout},
  family{"opt",
         "OPTForCausalLM",
         {.bos = 2, .eos = 2, .pad = 1, .tie_embeddings = true},
         read_opt,
         &opt_layout},
  family{"gpt_neox",
         "GPTNeoXForCausalLM",
         {.bos = 0, .eos = 2},
         read_gpt_neox,
         &neox_layout},
  // A Llama whose feed-forward part is a plug-in's: no other program must take
  // it for a Llama.
  family{"troupe_decoder",
         "TroupeDecoder",
         {.bos = 1, .eos = 2},
         read_plugin,
         nullptr},
};

} // namespace

const family* find_family(std::string_view model_type) {
  for (const auto& row : families)
    if (row.model_type == model_type)
      return &row;
  return nullptr;
}

std::string family_names() {
  std::string names;
  for (const auto& row : families)
    names += (names.empty() ? "" : ", ") + std::string{row.model_type};
  return names;
}

} // namespace troupe::runtime::model
