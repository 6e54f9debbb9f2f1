// SPDX-License-Identifier: Apache-2.0
#include "kernels/advantage.hpp"
#include "kernels/policy_loss.hpp"
#include "tests/kernels/fixture.hpp"

#include <limits>

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

constexpr policy_loss_settings settings{
  .clip_low = 0.2F, .clip_high = 0.28F, .kl_coefficient = 0.1F};

double reference(double logprob, double old, double ref, double advantage) {
  const double r = std::exp(logprob - old);
  const double clipped = std::clamp(r, 1 - double{settings.clip_low},
                                    1 + double{settings.clip_high});
  return -std::min(r * advantage, clipped * advantage)
         + double{settings.kl_coefficient}
             * (std::exp(ref - logprob) - (ref - logprob) - 1);
}

} // namespace

TEST_CASE("policy_loss and its slopes equal the formulas in double") {
  // Ratios on both sides of both clips, with either sign of the advantage.
  floats now, old, ref, advantages, weights;
  for (const float gap : {-1.0F, -0.25F, -0.1F, 0.0F, 0.1F, 0.24F, 0.3F, 2.0F})
    for (const float advantage : {-1.5F, 0.0F, 0.7F}) {
      now.push_back(-1 + gap);
      old.push_back(-1);
      ref.push_back(-1.3F);
      advantages.push_back(advantage);
      weights.push_back(0.25F);
    }
  floats coefficients(now.size(), NAN);
  const auto sums =
    policy_loss(now, old, ref, advantages, weights, settings, coefficients);
  double loss = 0, kl = 0;
  for (std::size_t t = 0; t < now.size(); ++t) {
    const auto at = [&](double logprob) {
      return reference(logprob, double{old[t]}, double{ref[t]},
                       double{advantages[t]});
    };
    const double x = double{now[t]};
    loss += 0.25 * at(x);
    kl += 0.25 * (std::exp(double{ref[t]} - x) - (double{ref[t]} - x) - 1);
    CHECK(double{coefficients[t]}
          == doctest::Approx(0.25 * (at(x + 1e-6) - at(x - 1e-6)) / 2e-6)
               .epsilon(1e-4));
  }
  CHECK(sums.loss == doctest::Approx(loss).epsilon(1e-7));
  CHECK(sums.kl == doctest::Approx(kl).epsilon(1e-7));
  CHECK(sums.num_clipped_low == 2);  // gaps -1 and -0.25 with advantage < 0
  CHECK(sums.num_clipped_high == 2); // gaps 0.3 and 2 with advantage > 0
}

TEST_CASE("a token of weight 0 is selected out, NaN and all") {
  const floats bad(2, std::numeric_limits<float>::quiet_NaN());
  const floats now{-1, NAN}, old{-1, NAN}, advantages{2, NAN}, weights{1, 0};
  floats coefficients(2, NAN);
  auto sums = policy_loss(now, old, {}, advantages, weights, {}, coefficients);
  CHECK(sums.loss == -2);
  CHECK(is_same(coefficients, {-2, 0}));
  const floats all(2, 1);
  sums = policy_loss(now, old, {}, advantages, all, {}, coefficients);
  CHECK(std::isnan(sums.loss)); // but a NaN that counts is not hidden
  CHECK(std::isnan(coefficients[1]));
}

TEST_CASE("group_advantages are centred and scaled by the sample deviation") {
  const floats rewards{0, 1, 1, 4};
  floats advantages(4);
  group_advantages(rewards, advantages);
  const double deviation = std::sqrt((2.25 + 0.25 + 0.25 + 6.25) / 3) + 1e-4;
  CHECK(error_of(advantages, {-1.5 / deviation, -0.5 / deviation,
                              -0.5 / deviation, 2.5 / deviation})
        < 1e-7);
  floats same{3.3F, 3.3F, 3.3F};
  group_advantages(same, same);
  CHECK(is_same(same, {0, 0, 0}));
  floats single{7};
  group_advantages(single, single);
  CHECK(is_same(single, {0}));
}

} // namespace troupe::kernels::testing
