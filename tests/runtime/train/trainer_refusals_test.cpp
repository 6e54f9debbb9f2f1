// SPDX-License-Identifier: Apache-2.0
//
// Steps that must not be made, and values that must not matter.
#include "runtime/train/trainer.hpp"

#include "tests/runtime/train/train_fixture.hpp"

#include <limits>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.train.trainer");

using namespace troupe::runtime;
using namespace troupe::runtime::train;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

step_result step(trainee& t, const group_list& groups,
                 const std::vector<float>& advantages) {
  trainer made(*t.decoder, nullptr, t.optimizer, {plain_settings(), 1.0F},
               t.pool);
  return made.policy_step(groups, advantages, false, 0.01);
}

/// The made-up groups, changed.
template <class Change>
group_list changed_groups(Change change) {
  group_list out;
  for (const auto& group : made_up_groups()) {
    auto copy = std::make_shared<experience::rollout_group>(*group);
    change(*copy);
    out.push_back(std::move(copy));
  }
  return out;
}

} // namespace

TEST_CASE("a step that is not finite is skipped and leaves nothing behind") {
  float rollout_logprob = 0;
  std::string expected;
  SUBCASE("an infinite ratio") {
    rollout_logprob = -1000;
    expected = "train/loss is not finite";
  }
  SUBCASE("a finite loss with a gradient that overflows") {
    rollout_logprob = -100;
    expected = "train/grad_norm is not finite";
  }
  trainee t, clean;
  step(t, made_up_groups(), made_up_advantages);
  step(clean, made_up_groups(), made_up_advantages);
  const auto bad = changed_groups([&](experience::rollout_group& g) {
    g.samples[1].rollout_logprobs[0] = rollout_logprob;
  });

  const auto result = step(t, bad, made_up_advantages);

  CHECK(result.skipped == expected);
  CHECK(result.metrics.count("train/grad_norm") == 1);
  CHECK(t.optimizer.num_updates() == 1);
  CHECK(same_bits(t.weights(), clean.weights()));
  CHECK(same_bits(t.moments(".first"), clean.moments(".first")));
  CHECK(same_bits(t.moments(".second"), clean.moments(".second")));
  for (auto* each : {&t, &clean})
    CHECK(step(*each, made_up_groups(), made_up_advantages).skipped.empty());
  CHECK(same_bits(t.weights(), clean.weights()));
}

TEST_CASE("P62: a NaN where nothing is selected has no effect") {
  trainee t, clean;
  step(clean, made_up_groups(), made_up_advantages);
  // A sample without tokens, as an aborted one, with a NaN for its advantage;
  // logprobs after the filters, which the loss does not take.
  const auto groups = changed_groups([](experience::rollout_group& g) {
    for (auto& s : g.samples)
      s.filtered_rollout_logprobs.assign(s.completion_ids.size(), not_a_number);
    g.samples.emplace_back();
  });
  auto advantages = made_up_advantages;
  advantages.insert(advantages.begin() + 3, not_a_number);
  advantages.push_back(not_a_number);

  const auto result = step(t, groups, advantages);

  CHECK(result.skipped.empty());
  CHECK(same_bits(t.weights(), clean.weights()));
}

TEST_CASE("rollout logprobs that are not finite are left out and counted") {
  // A sample of one token is left out with it.
  trainee t, clean;
  const auto without =
    changed_groups([](experience::rollout_group& g) { g.samples[0] = {}; });
  const auto expected = step(clean, without, made_up_advantages);
  float bad = not_a_number;
  SUBCASE("NaN") {}
  SUBCASE("infinite") {
    bad = -std::numeric_limits<float>::infinity();
  }
  const auto groups = changed_groups([&](experience::rollout_group& g) {
    g.samples[0].rollout_logprobs[0] = bad;
  });

  const auto result = step(t, groups, made_up_advantages);

  CHECK(result.skipped.empty());
  CHECK(result.metrics.at("train/nonfinite_logprobs") == 2);
  CHECK(expected.metrics.at("train/nonfinite_logprobs") == 0);
  for (const auto* key : {"train/loss", "train/tokens", "train/entropy"})
    CHECK(result.metrics.at(key)
          == doctest::Approx(expected.metrics.at(key)).epsilon(1e-6));
  CHECK(largest_difference(t.gradients(), clean.gradients()) < 1e-5);
}

TEST_CASE("overlong_filter takes truncated samples out of the loss") {
  trainee t, clean, empty;
  auto train = plain_settings();
  train.overlong_filter = true;
  const auto ends = [](bool all) {
    return [all](experience::rollout_group& g) {
      for (std::size_t i = 0; i < g.samples.size(); ++i)
        g.samples[i].finish = all || i == 1
                                ? experience::finish_reason::budget
                                : experience::finish_reason::stop_token;
    };
  };
  const auto run = [&](trainee& of, const group_list& groups) {
    trainer made(*of.decoder, nullptr, of.optimizer, {train, 1.0F}, of.pool);
    return made.policy_step(groups, made_up_advantages, false, 0.01);
  };
  step(clean,
       changed_groups([](experience::rollout_group& g) { g.samples[1] = {}; }),
       made_up_advantages);

  const auto result = run(t, changed_groups(ends(false)));

  CHECK(result.metrics.at("train/overlong_samples") == 2);
  CHECK(same_bits(t.weights(), clean.weights()));
  const auto none = run(empty, changed_groups(ends(true)));
  CHECK(none.skipped
        == "no sample has a completion token that counts: "
           "train.overlong_filter left out 6 samples");
  CHECK(none.metrics.at("train/tokens") == 0);
}

TEST_CASE("groups without a completion token make no update") {
  trainee t;
  const auto before = t.weights();
  const auto groups = changed_groups([](experience::rollout_group& g) {
    g.samples = std::vector<experience::sample>(3);
  });

  const auto result = step(t, groups, made_up_advantages);

  CHECK(result.skipped == "no sample has a completion token");
  CHECK(result.metrics.at("train/tokens") == 0);
  CHECK(t.optimizer.num_updates() == 0);
  CHECK(same_bits(t.weights(), before));
}

TEST_SUITE_END();
