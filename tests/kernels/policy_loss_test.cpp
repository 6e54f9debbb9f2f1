// SPDX-License-Identifier: Apache-2.0
#include "kernels/policy_loss.hpp"

#include "kernels/sequence_ratio.hpp"
#include "tests/kernels/loss_fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

struct outcome {
  policy_loss_sums sums;
  floats coefficients;
};

/// The kernels one after the other, as the trainer calls them.
outcome compute(const ragged_batch& b, const recipe& how) {
  floats weights(b.size(), NAN), importance(b.size(), NAN);
  loss_weights(b.mask, b.lengths, how.weights, weights);
  importance_weights(b.old, b.rollout, weights, b.lengths, how.importance,
                     importance);
  doubles log_ratios;
  if (how.level == ratio_level::sequence) {
    log_ratios.resize(b.size());
    sequence_log_ratios(b.now, b.old, weights, b.lengths, log_ratios);
  }
  outcome out;
  out.coefficients.assign(b.size(), NAN);
  out.sums = policy_loss({.new_logprobs = b.now,
                          .old_logprobs = b.old,
                          .reference_logprobs = b.reference,
                          .advantages = b.advantages,
                          .weights = weights,
                          .importance_weights = importance,
                          .log_ratios = log_ratios},
                         how.loss, out.coefficients);
  return out;
}

double norm(const doubles& x) {
  double total = 0;
  for (const double v : x)
    total += v * v;
  return std::sqrt(total);
}

/// Compares with the formulas in double on three batches.
void check(const recipe& how) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CAPTURE(seed);
    const auto b = random_batch(100 * seed);
    const auto got = compute(b, how);
    auto x = widen(b.now);
    const auto frozen = x;
    CHECK(got.sums.loss
          == doctest::Approx(formulas::loss(b, how, x, frozen)).epsilon(1e-6));
    const auto expected =
      slopes(x, [&] { return formulas::loss(b, how, x, frozen); });
    doubles off;
    for (std::size_t t = 0; t < b.size(); ++t) {
      off.push_back(double{got.coefficients[t]} - expected[t]);
      if (b.mask[t] == 0)
        CHECK(got.coefficients[t] == 0);
    }
    CHECK(norm(off) <= 1e-5 * norm(expected));
    CHECK(norm(expected) > 0);
  }
}

constexpr importance_correction corrections[] = {
  importance_correction::none, importance_correction::token_truncate,
  importance_correction::token_mask, importance_correction::sequence_truncate,
  importance_correction::sequence_mask};

} // namespace

TEST_CASE("losses and slopes are those of the papers' formulas in double") {
  const policy_loss_settings objectives[] = {
    {.clip_low = 0.2F, .clip_high = 0.28F},
    {.clip_low = 0.2F, .clip_high = 0.2F, .dual_clip = 1.3F},
    {.objective = policy_objective::cispo, .clip_low = 1, .clip_high = 0.2F},
    {.objective = policy_objective::cispo, .clip_low = .1F, .clip_high = .3F}};
  for (const auto aggregation :
       {loss_aggregation::token_mean, loss_aggregation::sequence_mean,
        loss_aggregation::fixed_length, loss_aggregation::sequence_sum})
    for (auto loss : objectives)
      for (const auto kl :
           {kl_estimator::k1, kl_estimator::k2, kl_estimator::k3})
        for (const float beta : {0.0F, 0.3F})
          for (const auto correction : corrections) {
            CAPTURE(int(aggregation));
            CAPTURE(int(loss.objective));
            CAPTURE(loss.dual_clip);
            CAPTURE(int(kl));
            CAPTURE(beta);
            CAPTURE(int(correction));
            if (beta == 0 && kl != kl_estimator::k3)
              continue;
            loss.kl = kl;
            loss.kl_coefficient = beta;
            check({{aggregation, 17}, loss, {correction, 0.8F, 1.15F}});
          }
}

TEST_CASE("the sequence ratio has the loss and slopes of GSPO's formula") {
  for (const auto correction :
       {importance_correction::none, importance_correction::sequence_truncate,
        importance_correction::sequence_mask})
    for (const float clip : {0.03F, 0.3F})
      for (const float beta : {0.0F, 0.2F}) {
        CAPTURE(int(correction));
        CAPTURE(clip);
        check({{loss_aggregation::sequence_mean, 1},
               {.clip_low = clip, .clip_high = clip, .kl_coefficient = beta},
               {correction, 0.5F, 2.5F},
               ratio_level::sequence});
      }
}

TEST_CASE("the edge cases of a batch are there") {
  const auto b = random_batch(0);
  CHECK(std::count(b.lengths.begin(), b.lengths.end(), 0) >= 1);
  CHECK(std::count(b.lengths.begin(), b.lengths.end(), 1) >= 1);
  CHECK(std::count_if(b.rollout.begin(), b.rollout.end(),
                      [](float x) { return !std::isfinite(x); })
        >= 5);
  const auto bounded = [&](importance_correction c) {
    floats weights(b.size()), out(b.size());
    loss_weights(b.mask, b.lengths, {}, weights);
    return importance_weights(b.old, b.rollout, weights, b.lengths,
                              {c, 0.8F, 1.15F}, out)
      .num_bounded;
  };
  for (const auto c : corrections)
    CHECK((bounded(c) > 0) == (c != importance_correction::none));
  const auto sums = compute(b, {.loss = {.dual_clip = 1.3F}}).sums;
  CHECK(sums.num_clipped_low > 0);
  CHECK(sums.num_clipped_high > 0);
  CHECK(sums.num_dual_clipped > 0);
}

TEST_CASE("a batch without a selected token has a loss of 0 and no slope") {
  auto b = random_batch(0);
  std::fill(b.mask.begin(), b.mask.end(), std::uint8_t{0});
  std::fill(b.now.begin(), b.now.end(), NAN);
  for (const auto level : {ratio_level::token, ratio_level::sequence}) {
    const auto got =
      compute(b, {.loss = {.kl_coefficient = 1},
                  .importance = {importance_correction::sequence_mask, 0.5F, 2},
                  .level = level});
    CHECK(got.sums.loss == 0);
    CHECK(got.sums.kl == 0);
    CHECK(is_same(got.coefficients, floats(b.size(), 0)));
  }
}

TEST_CASE("a token of weight 0 is selected out, NaN and all") {
  const floats now{-1, NAN}, old{-1, NAN}, advantages{2, NAN}, weights{1, 0};
  floats coefficients(2, NAN);
  auto sums =
    policy_loss({now, old, {}, advantages, weights}, {}, coefficients);
  CHECK(sums.loss == -2);
  CHECK(is_same(coefficients, {-2, 0}));
  const floats all(2, 1);
  sums = policy_loss({now, old, {}, advantages, all}, {}, coefficients);
  CHECK(std::isnan(sums.loss)); // but a NaN that counts is not hidden
  CHECK(std::isnan(coefficients[1]));
}

TEST_CASE("an objective of advantage 0 or importance 0 is 0 at any ratio") {
  const floats now{0, 0, 0}, old{-2000, -2000, -2000}, weights{1, 1, 1};
  const floats advantages{0, -1, -1}, importance{1, 0, 1};
  floats coefficients(3, NAN);
  const auto two = [](const floats& x) {
    return std::span<const float>{x}.first(2);
  };
  auto sums = policy_loss({.new_logprobs = two(now),
                           .old_logprobs = two(old),
                           .advantages = two(advantages),
                           .weights = two(weights),
                           .importance_weights = two(importance)},
                          {}, std::span{coefficients}.first(2));
  CHECK(sums.loss == 0);
  CHECK(coefficients[0] == 0);
  CHECK(coefficients[1] == 0);
  sums = policy_loss({now, old, {}, advantages, weights, importance}, {},
                     coefficients);
  CHECK(std::isinf(sums.loss)); // the third is not hidden
}

} // namespace troupe::kernels::testing
