// SPDX-License-Identifier: Apache-2.0
#include "actors/memory_plan.hpp"

#include "runtime/model/decoder_config.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/train/activation_memory.hpp"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace troupe::actors {

namespace {

using runtime::model::decoder_config;

decoder_config shape_of(const runtime::config::job_config& job) {
  if (!job.model.fresh)
    return runtime::model::read_decoder_config(job.model.path);
  const auto& f = *job.model.fresh;
  decoder_config out;
  out.vocab_size =
    runtime::tokenizer::tokenizer::load(job.model.tokenizer).vocab_size();
  out.hidden_size = f.hidden_size;
  out.intermediate_size = f.intermediate_size;
  out.num_layers = f.num_layers;
  out.num_heads = f.num_heads;
  out.num_kv_heads = f.num_kv_heads;
  out.head_width = f.hidden_size / f.num_heads;
  out.tie_embeddings = f.tie_embeddings;
  return out;
}

void print_row(std::ostream& out, const char* what, double bytes) {
  char line[96];
  std::snprintf(line, sizeof line, "  %-28s %9.1f MiB\n", what,
                bytes / (1 << 20));
  out << line;
}

} // namespace

void print_plan(const runtime::config::job_config& job, std::ostream& out) {
  const auto shape = shape_of(job);
  const auto n = runtime::model::num_parameters(shape);
  const double weights = 4.0 * static_cast<double>(n);
  const auto slots =
    std::min<std::int64_t>(job.rollout.slots, job.train.prompts_per_step
                                                * job.train.samples_per_prompt);
  const double cache =
    2.0 * 4.0 * static_cast<double>(shape.num_layers * slots)
    * static_cast<double>(job.rollout.max_prompt_tokens
                          + job.rollout.sampling.max_new_tokens)
    * static_cast<double>(shape.num_kv_heads * shape.head_width);
  const auto activations =
    static_cast<double>(runtime::train::activation_bytes(shape, job));
  const bool has_reference =
    job.train.algorithm == "grpo" && job.train.kl_coefficient > 0;
  out << "\nplacement: 1 host, 1 rank on cpu (trainer, rollout, parameter "
         "shard and cache owner share its weights)\nmemory of rank-0 "
         "beside the program itself ("
      << n << " parameters):\n";
  print_row(out, "weights", weights);
  print_row(out, "gradients", weights);
  print_row(out, "optimizer moments", 2 * weights);
  if (has_reference)
    print_row(out, "reference weights", weights);
  print_row(out, "KV cache", cache);
  print_row(out, "activations of a microbatch", activations);
  print_row(out, "sum",
            (has_reference ? 5 : 4) * weights + cache + activations);
}

} // namespace troupe::actors
