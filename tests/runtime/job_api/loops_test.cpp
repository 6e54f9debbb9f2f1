// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_api/loops.hpp"

#include "tests/runtime/job_api/fake_job.hpp"
#include "tests/support/failure_of.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.job_api.loops");

using namespace troupe::runtime::job_api;
using lines = std::vector<std::string>;

TEST_CASE("a step takes prompts then generates then grades then trains") {
  auto j = make_fake(1);

  const auto result = run_job(j);

  CHECK(j.calls
        == lines{"open", "position", "take_prompts train 2", "position",
                 "generate train 2 x 2", "grade train 2", "log_rollouts 1 2",
                 "train 1 minibatch 0 groups 0 1 advantages 4", "log 1 grpo",
                 "consume 2", "save 1", "export_model"});
  CHECK(result.steps_done == 1);
  CHECK(result.num_steps == 1);
  CHECK(result.is_complete);
  CHECK(result.last.at("train/grad_norm") == 3);
}

TEST_CASE("evaluations come before and between and after the stages") {
  auto j = make_fake(2, 2, true);

  const auto result = run_job(j);

  lines order;
  for (const auto& c : j.calls)
    if (c.starts_with("log ") || c.starts_with("generate eval")
        || c.starts_with("save") || c.starts_with("export"))
      order.push_back(c);
  CHECK(order
        == lines{"generate eval 3 x 1", "log 0 eval", "log 1 sft_warmup",
                 "log 2 sft_warmup", "generate eval 3 x 1", "log 2 eval",
                 "log 3 grpo", "log 4 grpo", "generate eval 3 x 1",
                 "log 4 eval", "save 4", "export_model"});
  // Rewards are those of the positions 0, 1, 2: 0, 1, 0.
  for (const auto* key : {"eval/start_accuracy", "eval/after_warmup_accuracy",
                          "eval/final_accuracy", "eval/heldout_accuracy"})
    CHECK(result.last.at(key) == doctest::Approx(1.0 / 3));
}

TEST_CASE("eval.every_steps evaluates in between and after the step's record") {
  auto j = make_fake(3, 0, true);
  j.settings.eval.every_steps = 2;

  run_job(j);

  CHECK(j.calls_of("log ")
        == lines{"log 0 eval", "log 1 grpo", "log 2 grpo", "log 2 eval",
                 "log 3 grpo", "log 3 eval"});
}

TEST_CASE("the warm-up is supervised with its own rows and rates") {
  auto j = make_fake(2, 2);
  j.settings.sft_warmup.optimizer.learning_rate = 0.5;
  j.settings.train.optimizer.learning_rate = 0.25;
  j.settings.train.optimizer.schedule = "linear";

  run_job(j);

  CHECK(j.calls_of("train")
        == lines{"train_supervised 1 rows 3", "train_supervised 2 rows 3",
                 "train 3 minibatch 0 groups 1 2 advantages 4",
                 "train 4 minibatch 0 groups 3 4 advantages 4"});
  REQUIRE(j.logged.size() == 4);
  const double rates[] = {0.5, 0.5, 0.25, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(j.logged[i].at("train/learning_rate") == rates[i]);
    CHECK(j.logged[i].at("train/loss") == rates[i]); // what the job was given
  }
}

TEST_CASE("algorithm sft is supervised throughout") {
  auto j = make_fake(2);
  j.settings.train.algorithm = "sft";
  j.settings.train.batch_size = 4;

  run_job(j);

  CHECK(j.calls_of("train")
        == lines{"train_supervised 1 rows 4", "train_supervised 2 rows 4"});
  CHECK(j.calls_of("log ") == lines{"log 1 sft", "log 2 sft"});
  CHECK(j.calls_of("generate").empty());
}

TEST_CASE("checkpoints come every n steps and at the end but never twice") {
  auto j = make_fake(4);
  SUBCASE("the last is one of them") {
    j.settings.run.save_every_steps = 2;
    run_job(j);
    CHECK(j.calls_of("save") == lines{"save 2", "save 4"});
  }
  SUBCASE("the last is not") {
    j.settings.run.save_every_steps = 3;
    run_job(j);
    CHECK(j.calls_of("save") == lines{"save 3", "save 4"});
  }
  SUBCASE("at the end only") {
    run_job(j);
    CHECK(j.calls_of("save") == lines{"save 4"});
  }
}

TEST_CASE("a resumed run makes the calls that the whole run made after it") {
  auto whole = make_fake(3, 2, true);
  whole.settings.run.save_every_steps = 1;
  run_job(whole);
  REQUIRE(whole.states.size() == 5);
  for (std::size_t step = 1; step <= 5; ++step) {
    CAPTURE(step);
    auto j = make_fake(3, 2, true);
    j.settings.run.save_every_steps = 1;
    j.info.loop_state = whole.states[step - 1];
    j.info.resumed_step = static_cast<std::int64_t>(step);

    const auto result = run_job(j);

    const auto saved = std::find(whole.calls.begin(), whole.calls.end(),
                                 "save " + std::to_string(step));
    const auto rows = step <= 2 ? 3 * step : 6 + 2 * (step - 2);
    lines expected{"open", "seek " + std::to_string(rows / 5) + "/"
                             + std::to_string(rows % 5)};
    expected.insert(expected.end(), saved + 1, whole.calls.end());
    CHECK(j.calls == expected);
    CHECK(result.steps_done == 5);
  }
}

TEST_CASE("minibatches split a batch by whole groups") {
  auto j = make_fake(1);
  j.settings.train.prompts_per_step = 5;
  SUBCASE("two") {
    j.settings.train.minibatches = 2;
    run_job(j);
    CHECK(j.calls_of("train")
          == lines{"train 1 minibatch 0 groups 0 1 advantages 4",
                   "train 1 minibatch 1 groups 2 3 4 advantages 6"});
    CHECK(j.logged.at(0).at("train/tokens") == 20);
    CHECK(j.logged.at(0).at("train/grad_norm") == 3);
    CHECK(j.logged.at(0).at("train/policy_version") == 2);
  }
  SUBCASE("no more than there are groups") {
    j.settings.train.minibatches = 9;
    run_job(j);
    CHECK(j.calls_of("train").size() == 5);
  }
}

TEST_CASE("skipped updates are counted and too many in a row end the run") {
  auto j = make_fake(9);
  std::size_t num_updates = 0;
  SUBCASE("never four in a row") {
    j.skipped = [&] {
      return std::string{++num_updates % 3 != 0 ? "train/loss is not finite"
                                                : ""};
    };
    run_job(j);
    REQUIRE(j.logged.size() == 9);
    CHECK(j.logged[0].at("train/skipped_steps") == 1);
    CHECK(j.logged[7].at("train/skipped_steps") == 6);
    CHECK(j.said.at(1)
          == "step 2: update skipped (2 in a row): train/loss is not finite");
    CHECK(j.version == 3);
  }
  SUBCASE("four in a row") {
    j.skipped = [&] {
      return std::string{++num_updates > 1 ? "train/loss is not finite" : ""};
    };
    CHECK(troupe::tests::failure_of([&] { run_job(j); })
          == "nonfinite_loss: step 5: 4 updates in a row were skipped "
             "(allowed: train.max_nonfinite_steps = 3); the last: "
             "train/loss is not finite. Lower train.optimizer.learning_rate "
             "or look at rollouts.jsonl");
    CHECK(j.calls_of("save").empty());
  }
}

TEST_CASE("what was skipped is still counted after a resume") {
  auto j = make_fake(4);
  j.settings.run.save_every_steps = 1;
  j.settings.train.max_nonfinite_steps = 2;
  bool is_bad = true;
  j.skipped = [&] { return std::string{is_bad ? "bad" : ""}; };
  j.before_call = [&](std::size_t) { is_bad = j.states.empty(); };
  run_job(j);
  auto resumed = make_fake(4);
  resumed.settings.train.max_nonfinite_steps = 2;
  resumed.skipped = [] { return std::string{"bad"}; };
  resumed.info.resumed_step = 1;
  resumed.info.loop_state = j.states.at(0);

  CHECK(troupe::tests::failure_of([&] {
          run_job(resumed);
        }).starts_with("nonfinite_loss: step 3: 3 updates in a row"));
  CHECK(nlohmann::json::parse(j.states.at(3)).at("num_skipped") == 1);
}

TEST_CASE("a constant reward is said and trained on with advantages of 0") {
  auto j = make_fake(1);
  j.reward = [](std::uint32_t) { return 1.0F; };

  run_job(j);

  CHECK(j.said
        == lines{"step 1: constant reward in every group: all advantages are "
                 "0"});
  CHECK(j.logged.at(0).at("reward/zero_spread_fraction") == 1);
  CHECK(j.calls_of("train").size() == 1);
}

TEST_CASE("a step whose groups were all dropped makes no update") {
  auto j = make_fake(2);
  j.num_dropped = 2;

  run_job(j);

  CHECK(j.said.at(0)
        == "step 1: every group was dropped by reward.on_error; no update");
  CHECK(j.calls_of("train").empty());
  CHECK(j.calls_of("log ") == lines{"log 1 grpo", "log 2 grpo"});
}

TEST_CASE("a dropped group is left out of the update") {
  auto j = make_fake(1);
  j.num_dropped = 1;

  run_job(j);

  CHECK(j.calls_of("train")
        == lines{"train 1 minibatch 0 groups 0 advantages 2"});
}

TEST_SUITE_END();
