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
