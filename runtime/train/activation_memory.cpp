// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/activation_memory.hpp"

#include <algorithm>

namespace troupe::runtime::train {

namespace {

/// Floats that a layer keeps for each row, by the closures of
/// model/operations.cpp: two residual states and their norms, q with the output
/// of attention, k with v, and gate, up and their product; what norms of
/// branches and of q and k take.
std::int64_t floats_of_layer(const model::decoder_config& shape) {
  const auto q_width = shape.num_heads * shape.head_width;
  const auto k_width = shape.num_kv_heads * shape.head_width;
  return (shape.branch_norms ? 6 : 4) * shape.hidden_size + 2 * q_width
         + 2 * k_width + (shape.query_key_norm ? q_width + k_width : 0)
         + (shape.mlp == "plain_mlp" ? 2 : 3) * shape.intermediate_size;
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
    + job.train.logit_chunk_tokens
        * ((shape.logit_softcap > 0 ? 2 : 1) * shape.vocab_size
           + 3 * shape.hidden_size);
  return floats * static_cast<std::int64_t>(sizeof(float));
}

} // namespace troupe::runtime::train
