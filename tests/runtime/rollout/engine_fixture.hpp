// SPDX-License-Identifier: Apache-2.0
//
// An engine over the fake model, and what a request must give, computed without
// an engine: one sample, one token after another.
#pragma once

#include "runtime/rollout/rollout_engine.hpp"
#include "tests/runtime/rollout/fake_rollout_model.hpp"

#include "kernels/sampling.hpp"
#include "kernels/softmax.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace troupe::runtime::rollout {

inline constexpr std::uint64_t test_seed = 42;

/// Group `position`: a prompt of `num_prompt` tokens and the stop ids {3, 5}.
inline rollout_request make_request(std::uint32_t position,
                                    std::int64_t num_prompt = 4,
                                    std::int64_t max_new = 8,
                                    std::int64_t num_samples = 1) {
  rollout_request r;
  r.id = {0, position, 0};
  r.use = kernels::purpose::train;
  for (std::int64_t i = 0; i < num_prompt; ++i)
    r.prompt_ids.push_back(
      static_cast<std::int32_t>((7 * position + 3 * i + 1) % 29));
  r.num_samples = num_samples;
  r.sampling.max_new_tokens = max_new;
  r.sampling.stop_ids = {3, 5};
  return r;
}

struct engine_fixture {
  explicit engine_fixture(std::int64_t num_slots = 3,
                          engine_settings settings = {test_seed},
                          int num_threads = 1)
    : pool(num_threads), cache(num_slots), engine(settings, model, pool) {
    engine.attach_cache(cache.view());
    engine.on_weights_changed(0);
  }

  /// Runs quanta of one step until nothing is left.
  void finish() {
    for (int step = 0; step < 100000; ++step)
      if (engine.decode_quantum(1, go_on).end == quantum_end::idle)
        return;
    throw std::runtime_error("the engine never gets idle");
  }

  /// Returns the finished groups by their position.
  std::map<std::uint32_t, experience::rollout_group> take() {
    std::map<std::uint32_t, experience::rollout_group> out;
    for (auto& g : engine.take_finished())
      out.emplace(g.id.position, std::move(g));
    return out;
  }

  fake_rollout_model model;
  kernels::thread_pool pool;
  fake_cache cache;
  std::atomic<std::uint32_t> go_on = 0;
  rollout_engine engine;
};

/// The sample that a request must give; differences are for the test to show.
inline experience::sample expected_sample(const fake_rollout_model& model,
                                          const rollout_request& request,
                                          std::uint32_t sample_index) {
  experience::sample out;
  auto ids = request.prompt_ids;
  kernels::thread_pool one(1);
  const auto& s = request.sampling;
  for (std::uint32_t k = 0;; ++k) {
    const auto logits = model.expected_logits(ids);
    auto masked = logits;
    if (static_cast<std::int64_t>(k) < s.min_new_tokens)
      for (const auto id : s.stop_ids)
        masked[static_cast<std::size_t>(id)] =
          -std::numeric_limits<float>::infinity();
    std::vector<float> scratch(logits.size());
    kernels::token_coordinates at;
    at.job_seed = test_seed;
    at.use = request.use;
    at.data_pass = request.id.data_pass;
    at.position_in_pass = request.id.position;
    at.attempt = request.id.attempt;
    at.sample_index = sample_index;
    at.position = k;
    const auto token = kernels::sample_token(
      masked, {s.temperature, s.top_k, s.top_p}, kernels::uniform(at), scratch);
    float logprob = 0;
    kernels::token_logprobs(
      {logits.data(), 1, static_cast<std::int64_t>(logits.size())},
      {&token.id, 1}, s.temperature > 0 ? s.temperature : 1, &logprob, nullptr,
      nullptr, one);
    ids.push_back(token.id);
    out.completion_ids.push_back(token.id);
    out.rollout_logprobs.push_back(logprob);
    out.filtered_rollout_logprobs.push_back(token.filtered_logprob);
    const bool stops = std::find(s.stop_ids.begin(), s.stop_ids.end(), token.id)
                       != s.stop_ids.end();
    out.finish = stops ? experience::finish_reason::stop_token
                       : experience::finish_reason::budget;
    if (stops || static_cast<std::int64_t>(k) + 1 == s.max_new_tokens)
      return out;
  }
}

/// True if ids, logprobs (bit for bit; none is NaN) and the end are the same.
inline bool same_sample(const experience::sample& a,
                        const experience::sample& b) {
  return a.completion_ids == b.completion_ids
         && a.rollout_logprobs == b.rollout_logprobs
         && a.filtered_rollout_logprobs == b.filtered_rollout_logprobs
         && a.finish == b.finish;
}

} // namespace troupe::runtime::rollout
