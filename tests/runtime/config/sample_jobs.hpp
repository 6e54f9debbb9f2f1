// SPDX-License-Identifier: Apache-2.0
//
// Small jobs of each kind, for tests of the reader.
#pragma once

#include "runtime/config/read_job.hpp"

#include <string>
#include <vector>

namespace troupe::tests {

inline const std::string grpo_job = R"(run:
  directory: runs/one
model:
  path: llama
data:
  train:
    file: train.jsonl
train:
  steps: 10
)";

/// Overrides that give every block and key of a kind an effect.
inline const std::vector<std::string> everything_on{
  "model.path=null",
  "model.tokenizer=tok",
  "model.fresh.hidden_size=64",
  "model.fresh.intermediate_size=128",
  "model.fresh.num_layers=2",
  "model.fresh.num_heads=4",
  "data.eval.file=eval.jsonl",
  "reward.kind=python",
  "reward.python=f.py:grade",
  "sft_warmup.steps=5",
  "sft_warmup.optimizer.schedule=cosine",
  "train.optimizer.schedule=linear",
  "train.kl_coefficient=0.1",
  "eval.sampling.temperature=0.5",
};

inline runtime::config::job_config
read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return runtime::config::read_job_text(text, "jobs/job.yaml", overrides);
}

} // namespace troupe::tests
