// SPDX-License-Identifier: Apache-2.0
//
// A decoder of two layers with grouped heads, and passes over it.
#pragma once

#include "runtime/model/decoder.hpp"

#include <numeric>
#include <vector>

namespace troupe::tests {

namespace model = runtime::model;

inline model::decoder_config small_config() {
  return {.vocab_size = 50,
          .hidden_size = 32,
          .intermediate_size = 48,
          .num_layers = 2,
          .num_heads = 4,
          .num_kv_heads = 2,
          .head_width = 8,
          .max_positions = 64,
          .initializer_range = 0.3,
          .tie_embeddings = true,
          .eos_token_ids = {}};
}

struct named_config {
  const char* name;
  model::decoder_config config;
};

/// What families have beyond Llama, each at least once.
inline std::vector<named_config> family_configs() {
  auto qwen = small_config();
  qwen.qkv_bias = qwen.query_key_norm = true;
  qwen.layers = {{.window = 4}, {.positions = model::layer_positions::none}};

  auto gemma = small_config();
  gemma.norm = model::norm_kind::rms_plus_one;
  gemma.activation = kernels::activation::gelu_tanh;
  gemma.branch_norms = true;
  gemma.embedding_scale = 3;
  gemma.score_scale = 0.4;
  gemma.score_softcap = 2;
  gemma.logit_softcap = 4;
  gemma.local_rope.theta = 100;
  gemma.layers = {
    {.window = 3, .positions = model::layer_positions::local_rope}, {}};

  auto gpt = small_config();
  gpt.family = "gpt2";
  gpt.num_kv_heads = gpt.num_heads;
  gpt.norm = model::norm_kind::layer;
  gpt.mlp = "plain_mlp";
  gpt.activation = kernels::activation::gelu;
  gpt.qkv_bias = gpt.output_bias = gpt.mlp_bias = true;
  gpt.learned_positions = 2;
  gpt.layers.assign(2, {.positions = model::layer_positions::none});

  auto neox = gpt;
  neox.family = "gpt_neox";
  neox.learned_positions.reset();
  neox.layers.clear();
  neox.rope.width = 4;
  neox.parallel_residual = true;
  return {{"llama", small_config()},
          {"qwen", qwen},
          {"gemma", gemma},
          {"gpt2", gpt},
          {"gpt_neox", neox}};
}

inline std::vector<std::int32_t> counted(std::int32_t from, std::int32_t end) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(end - from));
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

/// Hidden states of sequences below each other.
inline torch::Tensor
packed_hidden(model::decoder& decoder, kernels::thread_pool& pool,
              const std::vector<std::vector<std::int32_t>>& sequences) {
  std::vector<std::int32_t> ids, positions, offsets{0};
  for (const auto& sequence : sequences) {
    ids.insert(ids.end(), sequence.begin(), sequence.end());
    for (const auto at : counted(0, static_cast<std::int32_t>(sequence.size())))
      positions.push_back(at);
    offsets.push_back(static_cast<std::int32_t>(ids.size()));
  }
  return decoder.hidden(ids,
                        {pool, positions, model::packed_sequences{offsets}});
}

} // namespace troupe::tests
