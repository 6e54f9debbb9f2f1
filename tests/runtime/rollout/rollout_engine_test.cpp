// SPDX-License-Identifier: Apache-2.0
#include "protocols/failure.hpp"
#include "tests/runtime/rollout/engine_fixture.hpp"

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.rollout_engine");

using namespace troupe::runtime::rollout;
using troupe::protocols::errc;
using troupe::protocols::failure;
using troupe::runtime::experience::finish_reason;

namespace {

/// A script that forces a stop token at the given completion length of the
/// group whose prompt begins with that id; ids that are no stop id otherwise.
auto stop_after(std::map<std::int32_t, std::size_t> length_of_first_id,
                std::size_t num_prompt) {
  return [=](std::span<const std::int32_t> ids) -> std::optional<std::int32_t> {
    const auto found = length_of_first_id.find(ids[0]);
    if (found == length_of_first_id.end())
      return 11;
    return ids.size() - num_prompt + 1 == found->second ? 3 : 11;
  };
}

errc code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const failure& f) {
    return f.code();
  }
  return errc::none;
}

} // namespace

TEST_CASE("an engine without requests is idle and computes nothing") {
  engine_fixture f;

  const auto report = f.engine.decode_quantum(8, f.go_on);

  CHECK(report.end == quantum_end::idle);
  CHECK(report.num_steps == 0);
  CHECK(f.model.rows_per_forward.empty());
  CHECK(f.engine.take_finished().empty());
}

TEST_CASE("a sample ends by its budget, and the group comes out once") {
  engine_fixture f;
  f.model.script = stop_after({}, 4);
  f.engine.submit(make_request(0, 4, 5));

  f.finish();

  const auto groups = f.take();
  REQUIRE(groups.size() == 1);
  const auto& group = groups.at(0);
  CHECK(group.prompt_ids == make_request(0).prompt_ids);
  CHECK(group.samples[0].completion_ids == std::vector<std::int32_t>(5, 11));
  CHECK(group.samples[0].rollout_logprobs.size() == 5);
  CHECK(group.samples[0].finish == finish_reason::budget);
  CHECK(f.engine.take_finished().empty());
  CHECK(f.engine.num_unfinished_samples() == 0);
}

TEST_CASE(
  "a stop id as the first token ends the sample and counts as a token") {
  engine_fixture f;
  f.model.script = stop_after({{1, 1}}, 4);
  f.engine.submit(make_request(0));

  f.finish();

  const auto sample = f.take().at(0).samples[0];
  CHECK(sample.completion_ids == std::vector<std::int32_t>{3});
  CHECK(sample.finish == finish_reason::stop_token);
  CHECK(f.engine.statistics().num_decode_rows == 0);
}

TEST_CASE(
  "a stop id is a stop whatever else it is, and so is each in the list") {
  // Padding does not exist: an id that a tokenizer calls pad, too, ends a
  // sample as a stop id and is a plain token when it is none (RB-3).
  engine_fixture f;
  f.model.script = [](std::span<const std::int32_t> ids) {
    return std::optional<std::int32_t>(ids.size() == 6 ? 5 : 0);
  };
  f.engine.submit(make_request(0));

  f.finish();

  const auto sample = f.take().at(0).samples[0];
  CHECK(sample.completion_ids == std::vector<std::int32_t>{0, 0, 5});
  CHECK(sample.finish == finish_reason::stop_token);
}

TEST_CASE("min_new_tokens keeps stop ids away until then") {
  engine_fixture f;
  f.model.script = [](std::span<const std::int32_t>) {
    return std::optional<std::int32_t>(3);
  };
  auto request = make_request(0);
  request.sampling.min_new_tokens = 3;
  f.engine.submit(request);

  f.finish();

  const auto sample = f.take().at(0).samples[0];
  REQUIRE(sample.completion_ids.size() == 4);
  CHECK(sample.completion_ids[3] == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(sample.completion_ids[i] != 3);
    CHECK(sample.completion_ids[i] != 5);
  }
  CHECK(same_sample(sample, expected_sample(f.model, request, 0)));
}

TEST_CASE("staggered stops refill slots while the other rows decode on") {
  // Full-width prompts, two slots, stops at 2 and 5 (AG20): each row must be
  // what it is alone.
  engine_fixture f(2);
  f.model.script = stop_after({{1, 2}, {8, 5}, {15, 3}, {22, 1}}, 4);
  for (std::uint32_t i = 0; i < 5; ++i)
    f.engine.submit(make_request(i, 4, 7));

  f.finish();

  auto groups = f.take();
  const std::size_t lengths[] = {2, 5, 3, 1, 7};
  for (std::uint32_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    const auto& sample = groups.at(i).samples[0];
    CHECK(sample.completion_ids.size() == lengths[i]);
    CHECK(
      same_sample(sample, expected_sample(f.model, make_request(i, 4, 7), 0)));
  }
}

TEST_CASE("a control word that is not 0 stops before the next step") {
  engine_fixture f;
  f.model.script = stop_after({}, 4);
  f.engine.submit(make_request(0, 4, 40));
  f.model.on_forward = [&](const forward_rows&) {
    if (f.model.rows_per_forward.size() == 3)
      f.go_on = 1; // set while the fourth forward pass runs
  };

  const auto report = f.engine.decode_quantum(100, f.go_on);

  CHECK(report.end == quantum_end::interrupted);
  CHECK(report.num_steps == 4);
  CHECK(f.model.rows_per_forward.size() == 4);
  CHECK(f.engine.decode_quantum(100, f.go_on).num_steps == 0);
}

TEST_CASE("a quantum makes at most its steps and says what it made") {
  engine_fixture f;
  f.model.script = stop_after({}, 4);
  f.engine.submit(make_request(0, 4, 10, 2));

  const auto report = f.engine.decode_quantum(3, f.go_on);

  CHECK(report.end == quantum_end::steps_done);
  CHECK(report.num_steps == 3);
  CHECK(report.num_generated_tokens == 6);
  CHECK(report.num_finished_groups == 0);
  CHECK(f.engine.decode_quantum(7, f.go_on).end == quantum_end::idle);
}

TEST_CASE("a paused engine makes no step and goes on where it stood") {
  engine_fixture f;
  const auto request = make_request(0, 4, 12, 2);
  f.engine.submit(request);
  f.engine.decode_quantum(2, f.go_on);

  f.engine.pause();
  const auto num_forwards = f.model.rows_per_forward.size();
  CHECK(f.engine.decode_quantum(5, f.go_on).end == quantum_end::paused);
  CHECK(f.model.rows_per_forward.size() == num_forwards);
  f.engine.resume();
  f.finish();

  const auto group = f.take().at(0);
  for (std::uint32_t i = 0; i < 2; ++i)
    CHECK(same_sample(group.samples[i], expected_sample(f.model, request, i)));
  CHECK(f.engine.statistics().num_recomputed_samples == 0);
}

TEST_CASE("abort ends a group in every phase and leaves the others alone") {
  engine_fixture f(2, {test_seed, 2}); // prefill takes two steps
  f.model.script = stop_after({}, 4);
  for (std::uint32_t i = 0; i < 4; ++i)
    f.engine.submit(make_request(i, 4, 6));

  SUBCASE("queued, nothing has run") {}
  SUBCASE("prefilling") {
    f.engine.decode_quantum(1, f.go_on);
  }
  SUBCASE("decoding") {
    f.engine.decode_quantum(4, f.go_on);
  }
  const auto result = f.engine.abort({0, 0, 0});
  f.finish();

  CHECK(result == abort_result::aborted);
  auto groups = f.take();
  REQUIRE(groups.size() == 4);
  CHECK(groups.at(0).samples[0].finish == finish_reason::aborted);
  CHECK(groups.at(0).samples[0].completion_ids.size() < 6);
  for (std::uint32_t i = 1; i < 4; ++i)
    CHECK(same_sample(groups.at(i).samples[0],
                      expected_sample(f.model, make_request(i, 4, 6), 0)));
  CHECK(f.engine.abort({0, 0, 0}) == abort_result::unknown);
}

TEST_CASE("an abort while half of a group is queued keeps what has ended") {
  engine_fixture f(1);
  f.model.script = stop_after({}, 4);
  f.engine.on_weights_changed(7);
  f.engine.submit(make_request(0, 4, 3, 3));
  f.engine.decode_quantum(5, f.go_on); // the second sample has two tokens

  f.engine.abort_all();

  const auto group = f.take().at(0);
  CHECK(group.samples[0].finish == finish_reason::budget);
  CHECK(group.samples[1].finish == finish_reason::aborted);
  CHECK(group.samples[1].completion_ids.size() == 2);
  CHECK(group.samples[2].finish == finish_reason::aborted);
  CHECK(group.samples[2].completion_ids.empty());
  CHECK(group.samples[2].min_policy_version == 7);
  CHECK(f.engine.num_unfinished_samples() == 0);
  CHECK(f.engine.decode_quantum(1, f.go_on).end == quantum_end::idle);
}

TEST_CASE("new weights drop the cache, and tokens say their versions") {
  engine_fixture f(2);
  f.model.script = stop_after({}, 4);
  f.engine.submit(make_request(0, 4, 6, 2));
  f.engine.submit(make_request(1, 4, 6));
  f.engine.decode_quantum(3, f.go_on);
  f.model.script = nullptr;
  f.model.weights = 2; // every row of the cache is stale now

  f.engine.on_weights_changed(9);
  f.finish();

  auto groups = f.take();
  const auto& sample = groups.at(0).samples[1];
  CHECK(sample.min_policy_version == 0);
  CHECK(sample.max_policy_version == 9);
  CHECK(groups.at(1).samples[0].min_policy_version == 9);
  CHECK(f.engine.statistics().num_recomputed_samples == 2);
  // From the fourth token on: what the new weights give after these ids.
  auto request = make_request(0, 4, 6);
  auto ids = request.prompt_ids;
  for (std::size_t k = 0; k < sample.completion_ids.size(); ++k) {
    if (k >= 3) {
      const auto logits = f.model.expected_logits(ids);
      float logprob = 0;
      troupe::kernels::token_logprobs({logits.data(), 1, 29},
                                      {&sample.completion_ids[k], 1}, 1,
                                      &logprob, nullptr, nullptr, f.pool);
      CHECK(sample.rollout_logprobs[k] == logprob);
    }
    ids.push_back(sample.completion_ids[k]);
  }
  // No KV of the old weights is shared with samples that came later.
  CHECK(same_sample(groups.at(1).samples[0],
                    expected_sample(f.model, make_request(1, 4, 6), 0)));
}

TEST_CASE("a cache that was away changes no token") {
  engine_fixture f(2);
  const auto request = make_request(0, 4, 12, 3);
  f.engine.submit(request);
  f.engine.decode_quantum(3, f.go_on);

  f.engine.detach_cache();
  fake_cache other(2);
  CHECK(code_of([&] { f.engine.decode_quantum(1, f.go_on); })
        == errc::refused_by_state);
  f.engine.attach_cache(other.view());
  f.finish();

  const auto group = f.take().at(0);
  for (std::uint32_t i = 0; i < 3; ++i)
    CHECK(same_sample(group.samples[i], expected_sample(f.model, request, i)));
}

TEST_CASE("calls in the wrong state are refused by name") {
  fake_rollout_model model;
  troupe::kernels::thread_pool pool(1);
  rollout_engine engine({test_seed}, model, pool);
  std::atomic<std::uint32_t> go_on = 0;
  fake_cache cache(2), larger(3);

  CHECK_THROWS_WITH_AS(engine.submit(make_request(0)),
                       "rollout engine: submit without a KV cache; attach one "
                       "first",
                       failure);
  engine.attach_cache(cache.view());
  CHECK(code_of([&] { engine.attach_cache(cache.view()); })
        == errc::refused_by_state);
  CHECK_THROWS_WITH_AS(engine.decode_quantum(1, go_on),
                       "rollout engine: decode_quantum before any weights "
                       "were announced; call on_weights_changed first",
                       failure);
  engine.submit(make_request(0));
  engine.detach_cache();
  CHECK_THROWS_WITH_AS(engine.attach_cache(larger.view()),
                       "rollout engine: 1 samples are in flight, so that the "
                       "KV cache must have the layout that it had; finish or "
                       "abort them first",
                       failure);
  CHECK(code_of([&] {
          const rollout_engine none({test_seed, 0}, model, pool);
        })
        == errc::invalid_request);
}

TEST_CASE("an id can be used again when its group was taken, not before") {
  engine_fixture f;
  f.engine.submit(make_request(0));
  CHECK_THROWS_WITH_AS(
    f.engine.submit(make_request(0)),
    "rollout request of group 0/0/0: a group of this id has been submitted and "
    "not been taken; take it first, or count up its attempt",
    failure);
  f.finish();
  CHECK(code_of([&] { f.engine.submit(make_request(0)); })
        == errc::invalid_request);

  f.engine.take_finished();
  f.engine.submit(make_request(0));

  CHECK(f.engine.num_unfinished_samples() == 1);
}

TEST_CASE("a model that throws loses no sample") {
  engine_fixture f(2);
  const auto request = make_request(0, 4, 8, 2);
  f.engine.submit(request);
  f.engine.decode_quantum(2, f.go_on);
  f.model.on_forward = [&](const forward_rows&) {
    f.model.on_forward = nullptr;
    throw failure(errc::internal, "out of memory");
  };

  CHECK(code_of([&] { f.engine.decode_quantum(1, f.go_on); })
        == errc::internal);
  f.finish();

  const auto group = f.take().at(0);
  for (std::uint32_t i = 0; i < 2; ++i)
    CHECK(same_sample(group.samples[i], expected_sample(f.model, request, i)));
}

TEST_SUITE_END();
