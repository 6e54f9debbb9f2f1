// SPDX-License-Identifier: Apache-2.0
//
// What a group gives depends on weights, seed and request only: each case here
// holds the engine's result, bit for bit, against one sample computed alone.
#include "tests/runtime/rollout/engine_fixture.hpp"

#include <random>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.rollout_invariance");

using namespace troupe::runtime::rollout;

namespace {

/// Prompts of lengths 1 to 12, other budgets, samples and settings each.
std::vector<rollout_request> mixed_requests(std::uint32_t count) {
  std::vector<rollout_request> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto r = make_request(i, 1 + i % 12, 1 + (5 * i) % 13, 1 + i % 4);
    const float temperatures[] = {1.0F, 0.0F, 0.7F};
    r.sampling.temperature = temperatures[i % 3];
    r.sampling.top_k = i % 5 == 0 ? 6 : 0;
    r.sampling.top_p = i % 2 == 0 ? 1.0F : 0.9F;
    r.sampling.min_new_tokens = i % 4 == 1 ? 1 : 0;
    out.push_back(r);
  }
  return out;
}

void check_all(engine_fixture& f, const std::vector<rollout_request>& requests,
               const std::vector<std::size_t>& order) {
  for (const auto i : order)
    f.engine.submit(requests[i]);
  f.finish();
  const auto groups = f.take();
  REQUIRE(groups.size() == requests.size());
  for (const auto& r : requests) {
    const auto& group = groups.at(r.id.position);
    REQUIRE(group.samples.size() == static_cast<std::size_t>(r.num_samples));
    for (std::uint32_t s = 0; s < group.samples.size(); ++s) {
      CAPTURE(r.id.position);
      CAPTURE(s);
      CHECK(same_sample(group.samples[s], expected_sample(f.model, r, s)));
    }
  }
}

std::vector<std::size_t> rising(std::size_t count) {
  std::vector<std::size_t> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = i;
  return out;
}

} // namespace

TEST_CASE("tokens do not depend on slots, order, sharing, chunks or threads") {
  const auto requests = mixed_requests(16);
  for (const std::int64_t num_slots : {1, 2, 3, 8})
    for (const auto sharing : {prompt_sharing::on, prompt_sharing::off})
      for (const std::int64_t prefill_tokens : {1, 5, 512}) {
        CAPTURE(num_slots);
        CAPTURE(prefill_tokens);
        engine_fixture f(num_slots, {test_seed, prefill_tokens, sharing}, 2);
        auto order = rising(requests.size());
        std::mt19937 shuffle(static_cast<unsigned>(num_slots));
        if (prefill_tokens == 5)
          std::shuffle(order.begin(), order.end(), shuffle);
        check_all(f, requests, order);
      }
}

TEST_CASE("64 requests pass through 3 slots") {
  const auto requests = mixed_requests(64);
  engine_fixture f(3);

  check_all(f, requests, rising(requests.size()));
}

TEST_CASE("groups that arrive while others decode change nothing") {
  const auto requests = mixed_requests(12);
  engine_fixture f(3);
  for (const auto& r : requests) {
    f.engine.submit(r);
    f.engine.decode_quantum(2, f.go_on);
  }
  f.finish();

  const auto groups = f.take();
  for (const auto& r : requests)
    for (std::uint32_t s = 0; s < r.num_samples; ++s)
      CHECK(same_sample(groups.at(r.id.position).samples[s],
                        expected_sample(f.model, r, s)));
}

TEST_CASE("samples, groups and uses have random numbers of their own") {
  engine_fixture f(8);
  auto same_prompt = [](std::uint32_t position) {
    auto r = make_request(0, 4, 12, 2);
    r.id.position = position;
    r.sampling.stop_ids.clear();
    return r;
  };
  auto evaluation = same_prompt(1);
  evaluation.id = {0, 2, 0};
  auto again = same_prompt(0);
  again.id.attempt = 1;
  f.engine.submit(same_prompt(0));
  f.engine.submit(same_prompt(1));
  f.finish();
  auto groups = f.take();
  f.engine.submit(again);
  f.finish();
  const auto other_attempt = f.take().at(0);
  auto as_eval = same_prompt(0);
  as_eval.use = troupe::kernels::purpose::eval;
  as_eval.eval_name = "held_out";
  f.engine.submit(as_eval);
  f.finish();
  const auto eval_group = f.take().at(0);

  const auto& first = groups.at(0).samples[0].completion_ids;
  CHECK(first != groups.at(0).samples[1].completion_ids);
  CHECK(first != groups.at(1).samples[0].completion_ids);
  CHECK(first != other_attempt.samples[0].completion_ids);
  CHECK(first != eval_group.samples[0].completion_ids);
}

TEST_CASE("one prefill serves all samples of a group, in any number of slots") {
  for (const std::int64_t num_slots : {1, 2, 8}) {
    CAPTURE(num_slots);
    engine_fixture f(num_slots);
    f.engine.submit(make_request(0, 10, 6, 5));
    f.engine.submit(make_request(1, 7, 6, 3));

    f.finish();

    CHECK(f.engine.statistics().num_prefill_tokens == 17);
    CHECK(f.engine.statistics().num_shared_tokens == 4 * 10 + 2 * 7);
  }
}

TEST_CASE("prefill respects its budget and does not hold up rows that decode") {
  engine_fixture f(2, {test_seed, 4});
  f.model.script = [](std::span<const std::int32_t>) {
    return std::optional<std::int32_t>(11);
  };
  f.engine.submit(make_request(0, 2, 12));
  f.engine.submit(make_request(1, 12, 2));

  f.engine.decode_quantum(4, f.go_on);

  // 2 + 2 rows; then one row decodes beside 4, 4 and the last 2.
  CHECK(f.model.rows_per_forward == std::vector<std::int64_t>{4, 5, 5, 3});
  CHECK(f.model.logit_rows == std::vector<std::int64_t>{1, 1, 1, 2});
  CHECK(f.engine.statistics().num_decode_rows == 3);
  CHECK(f.engine.statistics().num_prefill_tokens == 14);
}

TEST_CASE("RB-2: a slot without a sample is never written") {
  engine_fixture f(4);
  f.engine.submit(make_request(0, 4, 6));

  f.finish();

  const auto cache = f.cache.view();
  for (std::int64_t slot = 1; slot < 4; ++slot)
    for (std::int64_t p = 0; p < cache.layout.slot_capacity_tokens; ++p)
      CHECK(cache.keys(0, slot, p)[0] == fake_cache::poison());
  CHECK(cache.keys(0, 0, 3)[0] != fake_cache::poison());
}

TEST_SUITE_END();
