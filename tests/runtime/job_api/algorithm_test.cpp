// SPDX-License-Identifier: Apache-2.0
//
// What the train block asks of the loop: epochs, resampling, what comes off a
// reward.
#include "runtime/job_api/loops.hpp"
#include "runtime/job_api/update_metrics.hpp"
#include "tests/runtime/job_api/fake_job.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.job_api.algorithm");

using namespace troupe::runtime::job_api;
using lines = std::vector<std::string>;

namespace {

/// Without scaling, so that an advantage can be read.
fake_job plain_job() {
  auto j = make_fake(1);
  j.settings.train.advantage_scale = "none";
  return j;
}

/// Rewards of positions: 0 has 1 and 1, 1 has 1 and 0, 2 has 0 and 1, ...
float first_is_flat(std::uint32_t sample) {
  return sample == 0 ? 1.0F : static_cast<float>(sample % 2);
}

} // namespace

TEST_CASE("epochs go over the same groups and say how many are to come") {
  auto j = make_fake(1);
  j.settings.train.epochs = 3;
  j.settings.train.minibatches = 2;

  run_job(j);

  CHECK(j.calls_of("train")
        == lines{"train 1 minibatch 0 groups 0 advantages 2 later 2",
                 "train 1 minibatch 1 groups 1 advantages 2 later 2",
                 "train 1 minibatch 2 groups 0 advantages 2 later 1",
                 "train 1 minibatch 3 groups 1 advantages 2 later 1",
                 "train 1 minibatch 4 groups 0 advantages 2",
                 "train 1 minibatch 5 groups 1 advantages 2"});
  CHECK(j.logged.at(0).at("train/tokens") == 60);
  CHECK(j.logged.at(0).at("train/grad_norm") == 3);
  CHECK(j.calls_of("score").empty());
}

TEST_CASE("groups are scored once if several updates compare with before") {
  auto j = make_fake(1);
  j.settings.train.importance_correction = "token_truncate";
  SUBCASE("one update compares with itself") {
    run_job(j);
    CHECK(j.calls_of("score").empty());
  }
  SUBCASE("two epochs") {
    j.settings.train.epochs = 2;
    run_job(j);
    CHECK(j.calls_of("score") == lines{"score 2"});
    CHECK(j.logged.at(0).count("time/score_s") == 1);
  }
  SUBCASE("two minibatches") {
    j.settings.train.minibatches = 2;
    run_job(j);
    CHECK(j.calls_of("score") == lines{"score 2"});
  }
}

TEST_CASE("groups without spread are replaced by further prompts") {
  auto j = make_fake(1);
  j.reward = first_is_flat;
  j.settings.train.max_resample_rounds = 4;

  run_job(j);

  CHECK(j.calls_of("take_prompts")
        == lines{"take_prompts train 2", "take_prompts train 1"});
  CHECK(j.calls_of("discard") == lines{"discard 1"});
  CHECK(j.calls_of("train 1")
        == lines{"train 1 minibatch 0 groups 1 2 advantages 4"});
  const auto& values = j.logged.at(0);
  CHECK(values.at("reward/resample_rounds") == 1);
  CHECK(values.at("reward/resampled_groups") == 1);
  CHECK(values.at("reward/zero_spread_fraction") == doctest::Approx(1.0 / 3));
  CHECK(values.at("rollout/tokens") == 6);
  // A resumed run goes on behind the prompts that were taken in place.
  CHECK(nlohmann::json::parse(j.states.at(0)).at("position") == 3);
  CHECK(j.said.empty());
}

TEST_CASE("resampling ends after its rounds and says what it has") {
  auto j = make_fake(1);
  j.settings.train.max_resample_rounds = 2;
  SUBCASE("nothing") {
    j.reward = [](std::uint32_t) { return 1.0F; };
    run_job(j);
    CHECK(j.calls_of("discard")
          == lines{"discard 2", "discard 2", "discard 2"});
    CHECK(j.said
          == lines{"step 1: after 2 resample rounds "
                   "(train.max_resample_rounds) 0 of 2 groups have unequal "
                   "rewards; no update"});
    CHECK(j.calls_of("train").empty());
    CHECK(j.logged.at(0).at("reward/resampled_groups") == 6);
  }
  SUBCASE("a part") {
    // Only the group of position 1 has spread.
    j.reward = [](std::uint32_t sample) { return sample == 2 ? 1.0F : 0.0F; };
    j.settings.train.max_resample_rounds = 0;
    run_job(j);
    CHECK(j.calls_of("discard").empty());
    CHECK(j.calls_of("train 1")
          == lines{"train 1 minibatch 0 groups 0 1 advantages 4"});
  }
}

TEST_CASE("the baseline and the scale are those of the job") {
  auto j = plain_job();
  SUBCASE("group_mean") {
    run_job(j);
    CHECK(j.last_advantages == std::vector<float>{-0.5F, 0.5F, 0.5F, -0.5F});
  }
  SUBCASE("leave_one_out") {
    j.settings.train.advantage_baseline = "leave_one_out";
    run_job(j);
    CHECK(j.last_advantages == std::vector<float>{-1, 1, 1, -1});
  }
}

TEST_CASE("the overlong penalty comes off before the baseline") {
  auto j = plain_job();
  j.reward = [](std::uint32_t) { return 1.0F; };
  j.settings.rollout.sampling.max_new_tokens = 3;
  j.settings.train.overlong_margin_tokens = 2;
  j.settings.train.overlong_penalty = 0.5;

  run_job(j);

  CHECK(j.logged.at(0).at("reward/overlong_penalty_mean")
        == doctest::Approx(-0.25));
  CHECK(j.last_advantages == std::vector<float>{0, 0, 0, 0});
}

TEST_CASE("the divergence comes off the reward of its sample") {
  auto j = plain_job();
  j.settings.train.kl_coefficient = 0.5;
  j.settings.train.kl_in = "reward";
  j.divergences = {1, 3, 0, 0};

  run_job(j);

  // Rewards 0 - 0.5, 1 - 1.5 and 1, 0.
  CHECK(j.last_advantages == std::vector<float>{0, 0, 0.5F, -0.5F});
  CHECK(j.logged.at(0).at("reward/kl_penalty_mean") == doctest::Approx(-0.5));
}

TEST_CASE("metrics of updates are reduced by their kind") {
  update_metrics all;
  all.add({{"train/loss", 1},
           {"train/tokens", 3},
           {"rollout/gap_mean", 4},
           {"train/policy_version", 7},
           {"train/x_max", 2}});
  all.add({{"train/loss", 2},
           {"train/tokens", 5},
           {"train/policy_version", 8},
           {"train/x_max", 1},
           {"train/kl", 6}});
  metrics out;
  all.write_to(out);

  CHECK(out
        == metrics{{"train/loss", 1.5},
                   {"train/tokens", 8},
                   {"rollout/gap_mean", 4},
                   {"train/policy_version", 8},
                   {"train/x_max", 2},
                   {"train/kl", 6}});
}

TEST_SUITE_END();
