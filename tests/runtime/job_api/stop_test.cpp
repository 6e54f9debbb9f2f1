// SPDX-License-Identifier: Apache-2.0
//
// The first Ctrl-C, at every place where it can fall.
#include "runtime/job_api/loops.hpp"

#include "tests/runtime/job_api/fake_job.hpp"
#include "tests/support/failure_of.hpp"

#include <nlohmann/json.hpp>

#include <set>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.job_api.stop");

using namespace troupe::runtime::job_api;
using troupe::protocols::errc;
using troupe::protocols::failure;
using lines = std::vector<std::string>;

namespace {

fake_job two_stages() {
  auto j = make_fake(2, 1, true);
  j.settings.eval.every_steps = 2;
  return j;
}

/// From call `number` on, everything but `save` is refused.
void stop_at(fake_job& j, std::size_t number) {
  j.before_call = [&j, number](std::size_t call) {
    if (call < number)
      return;
    j.stopping = true;
    throw failure(errc::shutting_down, "admission is closed");
  };
}

} // namespace

TEST_CASE("a call refused while stopping ends in a checkpoint from which a "
          "resumed run does the rest") {
  auto whole = two_stages();
  run_job(whole);
  const auto all_trained = whole.calls_of("train");
  REQUIRE(all_trained.size() == 3);
  std::set<std::int64_t> stopped_at;
  for (std::size_t number = 0; number < whole.num_calls; ++number) {
    CAPTURE(number);
    auto j = two_stages();
    stop_at(j, number);

    const auto result = run_job(j);

    CHECK_FALSE(result.is_complete);
    CHECK(j.calls_of("export").empty());
    REQUIRE(j.states.size() == 1);
    const auto state = nlohmann::json::parse(j.states[0]);
    CHECK(state.at("step") == result.steps_done);
    CHECK(j.calls_of("save")
          == lines{"save " + std::to_string(result.steps_done)});
    stopped_at.insert(result.steps_done);

    auto rest = two_stages();
    rest.info.resumed_step = result.steps_done;
    rest.info.loop_state = j.states[0];
    CHECK(run_job(rest).is_complete);
    auto trained = j.calls_of("train");
    // A refused step is not in `calls`; one that was made is not made again.
    const auto again = rest.calls_of("train");
    trained.insert(trained.end(), again.begin(), again.end());
    CHECK(trained == all_trained);
  }
  CHECK(stopped_at == std::set<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("a request to stop during a step lets it end and saves") {
  auto j = make_fake(5);
  j.before_call = [&](std::size_t) {
    j.stopping = !j.calls_of("train 3").empty();
  };

  const auto result = run_job(j);

  CHECK(result.steps_done == 3);
  CHECK(result.num_steps == 5);
  CHECK_FALSE(result.is_complete);
  CHECK(j.calls.back() == "save 3");
  CHECK(j.calls_of("log ") == lines{"log 1 grpo", "log 2 grpo", "log 3 grpo"});
}

TEST_CASE("a step that was just saved is not saved again") {
  auto j = make_fake(5);
  j.settings.run.save_every_steps = 1;
  j.before_call = [&](std::size_t) {
    j.stopping = !j.calls_of("train 2").empty();
  };

  run_job(j);

  CHECK(j.calls_of("save") == lines{"save 1", "save 2"});
}

TEST_CASE("a request to stop before the first step saves step 0") {
  auto j = make_fake(5);
  j.stopping = true;

  const auto result = run_job(j);

  CHECK(result.steps_done == 0);
  CHECK(j.calls == lines{"open", "position", "save 0"});
}

TEST_CASE("a failure that is no stop is passed on without a checkpoint") {
  auto j = make_fake(5);
  j.before_call = [&](std::size_t call) {
    if (call == 4)
      throw failure(errc::reward_failed, "f.py: no");
  };

  CHECK(troupe::tests::failure_of([&] { run_job(j); })
        == "reward_failed: f.py: no");
  CHECK(j.calls_of("save").empty());
}

TEST_SUITE_END();
