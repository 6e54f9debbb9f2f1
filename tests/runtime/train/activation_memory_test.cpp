// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/activation_memory.hpp"

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.train.activation_memory");

using namespace troupe::runtime;

namespace {

model::decoder_config small_shape() {
  model::decoder_config shape;
  shape.vocab_size = 100;
  shape.hidden_size = 8;
  shape.intermediate_size = 24;
  shape.num_layers = 3;
  shape.num_heads = 2;
  shape.num_kv_heads = 1;
  shape.head_width = 4;
  return shape;
}

config::job_config small_job() {
  config::job_config job;
  job.rollout.max_prompt_tokens = 20;
  job.rollout.sampling.max_new_tokens = 10;
  job.train.microbatch_tokens = 64;
  job.train.logit_chunk_tokens = 5;
  return job;
}

// A row keeps 4 x 8 + 2 x 8 + 2 x 4 + 3 x 24 = 128 floats in each of 3 layers
// and 24 beside them; the chunk of 5 rows holds 5 x (100 + 24).
constexpr std::int64_t row_floats = 3 * 128 + 24, chunk_floats = 5 * 124;

} // namespace

TEST_CASE("activations grow with the microbatch") {
  CHECK(train::activation_bytes(small_shape(), small_job())
        == 4 * (64 * row_floats + chunk_floats));
}

TEST_CASE("a sequence longer than the microbatch counts whole") {
  auto job = small_job();
  job.train.microbatch_tokens = 1;
  CHECK(train::activation_bytes(small_shape(), job)
        == 4 * (30 * row_floats + chunk_floats));
}

TEST_CASE("a microbatch is no larger than all rows of a step") {
  auto job = small_job();
  job.train.microbatch_tokens = 1 << 20;
  job.train.prompts_per_step = 6;
  job.train.samples_per_prompt = 7;
  job.train.batch_size = job.sft_warmup.batch_size = 3;
  CHECK(train::activation_bytes(small_shape(), job)
        == 4 * (6 * 7 * 30 * row_floats + chunk_floats));
}

TEST_SUITE_END();
