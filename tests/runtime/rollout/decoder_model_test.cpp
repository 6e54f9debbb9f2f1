// SPDX-License-Identifier: Apache-2.0
//
// The engine over a real decoder: its tokens and logprobs are, bit for bit,
// those of whole sequences without a cache, as the trainer computes them.
#include "runtime/rollout/decoder_model.hpp"

#include "kernels/linear.hpp"
#include "kernels/soft_cap.hpp"
#include "kernels/softmax.hpp"
#include "protocols/failure.hpp"
#include "runtime/model/tensor_view.hpp"
#include "runtime/rollout/rollout_engine.hpp"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <map>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.decoder_model");

using namespace troupe::runtime;
using namespace troupe::runtime::rollout;
namespace kernels = troupe::kernels;

namespace {

model::decoder_config tiny_config() {
  model::decoder_config c;
  c.vocab_size = 61;
  c.hidden_size = 48;
  c.intermediate_size = 80;
  c.num_layers = 3;
  c.num_heads = 6;
  c.num_kv_heads = 2;
  c.head_width = 8;
  c.max_positions = 96;
  c.initializer_range = 0.3; // logits that differ
  c.tie_embeddings = true;
  return c;
}

/// Windows shorter than the texts, capped scores and logits, norms of branches.
model::decoder_config gemma_config() {
  auto c = tiny_config();
  c.norm = model::norm_kind::rms_plus_one;
  c.activation = kernels::activation::gelu_tanh;
  c.branch_norms = c.query_key_norm = c.qkv_bias = true;
  c.embedding_scale = 2;
  c.score_softcap = 3;
  c.logit_softcap = 5;
  c.layers = {{.window = 7},
              {},
              {.window = 12, .positions = model::layer_positions::local_rope}};
  return c;
}

std::shared_ptr<model::decoder> decoder_of(const model::decoder_config& c) {
  return model::make_decoder(c, 7, model::module_registry());
}

rollout_request make_request(std::uint32_t position, std::int64_t num_prompt,
                             std::int64_t num_samples) {
  rollout_request r;
  r.id = {0, position, 0};
  for (std::int64_t i = 0; i < num_prompt; ++i)
    r.prompt_ids.push_back(
      static_cast<std::int32_t>((11 * position + 5 * i) % 61));
  r.num_samples = num_samples;
  r.sampling.max_new_tokens = 10;
  r.sampling.stop_ids = {2, 3, 4};
  r.sampling.temperature = position % 3 == 0 ? 0.8F : 1.0F;
  return r;
}

std::vector<float> logprobs_without_cache(model::decoder& decoder,
                                          const rollout_request& request,
                                          const experience::sample& sample,
                                          kernels::thread_pool& pool) {
  const at::NoGradGuard no_gradients;
  auto ids = request.prompt_ids;
  ids.insert(ids.end(), sample.completion_ids.begin(),
             sample.completion_ids.end());
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < ids.size(); ++i)
    positions.push_back(static_cast<std::int32_t>(i));
  const std::int32_t offsets[] = {0, static_cast<std::int32_t>(ids.size())};
  const auto hidden =
    decoder.hidden(ids, {pool, positions, model::packed_sequences{offsets}});
  auto logits = model::empty_matrix(hidden.size(0), 61);
  kernels::linear(model::as_const_matrix(hidden),
                  model::as_const_matrix(decoder.lm_head_weight()), nullptr,
                  model::as_matrix(logits), pool);
  if (const auto cap = decoder.config().logit_softcap; cap > 0)
    kernels::soft_cap(model::as_matrix(logits), static_cast<float>(cap), pool);
  const auto first = request.prompt_ids.size() - 1;
  std::vector<float> out(sample.completion_ids.size());
  auto rows = model::as_const_matrix(logits);
  rows.data = rows.row(static_cast<std::int64_t>(first));
  rows.rows = static_cast<std::int64_t>(out.size());
  kernels::token_logprobs(rows, sample.completion_ids,
                          request.sampling.temperature, out.data(), nullptr,
                          nullptr, pool);
  return out;
}

std::map<std::uint32_t, experience::rollout_group>
run(const std::shared_ptr<model::decoder>& decoder,
    const std::vector<rollout_request>& requests, std::int64_t num_slots,
    const engine_settings& settings, int num_threads) {
  kernels::thread_pool pool(num_threads);
  decoder_model model(decoder, pool);
  const auto layout = model.cache_layout(num_slots, 40);
  std::vector<float> memory(layout.num_bytes() / sizeof(float), NAN);
  rollout_engine engine(settings, model, pool);
  engine.attach_cache({memory.data(), layout});
  engine.on_weights_changed(0);
  for (const auto& r : requests)
    engine.submit(r);
  const std::atomic<std::uint32_t> go_on = 0;
  engine.decode_quantum(10000, go_on);
  std::map<std::uint32_t, experience::rollout_group> out;
  for (auto& g : engine.take_finished())
    out.emplace(g.id.position, std::move(g));
  return out;
}

} // namespace

TEST_CASE("tokens and logprobs are the same for all slots, chunks and threads, "
          "and the logprobs are those of whole sequences") {
  auto config = tiny_config();
  SUBCASE("Llama") {}
  SUBCASE("Gemma") {
    config = gemma_config();
  }
  const auto decoder = decoder_of(config);
  std::vector<rollout_request> requests;
  for (std::uint32_t i = 0; i < 20; ++i)
    requests.push_back(make_request(i, 1 + i, 1 + i % 3));
  kernels::thread_pool pool(1);

  const auto alone =
    run(decoder, requests, 1, {5, 512, prompt_sharing::off}, 1);

  REQUIRE(alone.size() == requests.size());
  std::size_t num_stopped = 0;
  for (const auto& r : requests)
    for (const auto& sample : alone.at(r.id.position).samples) {
      num_stopped += sample.finish == experience::finish_reason::stop_token;
      CHECK(sample.rollout_logprobs
            == logprobs_without_cache(*decoder, r, sample, pool));
    }
  CHECK(num_stopped > 0); // otherwise no slot was refilled out of turn
  const engine_settings variants[] = {{5, 512, prompt_sharing::on},
                                      {5, 7, prompt_sharing::on},
                                      {5, 3, prompt_sharing::off}};
  for (const std::int64_t num_slots : {2, 3, 8})
    for (const auto& settings : variants) {
      CAPTURE(num_slots);
      CAPTURE(settings.prefill_tokens_per_step);
      const auto groups = run(decoder, requests, num_slots, settings, 2);
      for (const auto& [position, group] : groups)
        for (std::size_t s = 0; s < group.samples.size(); ++s) {
          const auto& expected = alone.at(position).samples[s];
          CHECK(group.samples[s].completion_ids == expected.completion_ids);
          CHECK(group.samples[s].rollout_logprobs == expected.rollout_logprobs);
          CHECK(group.samples[s].filtered_rollout_logprobs
                == expected.filtered_rollout_logprobs);
        }
    }
}

TEST_CASE("a cache of another model is refused with both shapes") {
  kernels::thread_pool pool(1);
  decoder_model model(decoder_of(tiny_config()), pool);
  auto layout = model.cache_layout(1, 8);
  layout.num_layers = 2;
  std::vector<float> memory(layout.num_bytes() / sizeof(float));
  const std::int32_t zero[] = {0};
  std::vector<float> hidden(48);

  CHECK_THROWS_WITH_AS(model.forward({zero, zero, zero, zero},
                                     {memory.data(), layout},
                                     {hidden.data(), 1, 48}),
                       "KV cache: 2 layers of rows of 16; the model has 3 of "
                       "16",
                       troupe::protocols::failure);
}

TEST_SUITE_END();
