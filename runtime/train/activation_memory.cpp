// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/activation_memory.hpp"

#include <algorithm>

namespace troupe::runtime::train {

namespace {

/// Floats that a layer keeps for each row, by the closures of
/// model/operations.cpp: two residual states and their norms, q with the output
/// of attention, k with v, and gate, up and their product.
std::int64_t floats_of_layer(const model::decoder_config& shape) {
  return 4 * shape.hidden_size + 2 * shape.num_heads * shape.head_width
         + 2 * shape.num_kv_heads * shape.head_width
         + 3 * shape.intermediate_size;
}

} // namespace

std::int64_t activation_bytes(const model::decoder_config& shape,
                              const config::job_config& job) {
  const auto longest =
    job.rollout.max_prompt_tokens + job.rollout.sampling.max_new_tokens;
  const auto num_sequences =
    std::max({job.train.prompts_per_step * job.train.samples_per_prompt,
              job.train.batch_size, job.sft_warmup.batch_size});
  const auto num_rows = std::min(std::max(job.train.microbatch_tokens, longest),
                                 num_sequences * longest);
  // Beside the layers: the embedding, the last norm and its gradient; of a
  // chunk: logits, hidden states and their gradient.
  const auto floats =
    num_rows
      * (shape.num_layers * floats_of_layer(shape) + 3 * shape.hidden_size)
    + job.train.logit_chunk_tokens * (shape.vocab_size + 3 * shape.hidden_size);
  return floats * static_cast<std::int64_t>(sizeof(float));
}

} // namespace troupe::runtime::train
