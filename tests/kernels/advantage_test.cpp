// SPDX-License-Identifier: Apache-2.0
#include "kernels/advantage.hpp"

#include "kernels/overlong_penalty.hpp"
#include "tests/kernels/fixture.hpp"

#include <numeric>

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

using sizes = std::vector<std::int64_t>;
using enum advantage_baseline;
using enum advantage_scale;

double mean(const doubles& x) {
  return std::accumulate(x.begin(), x.end(), 0.0)
         / static_cast<double>(x.size());
}

double deviation(const doubles& x) {
  double squares = 0;
  for (const double v : x)
    squares += (v - mean(x)) * (v - mean(x));
  return std::sqrt(squares / static_cast<double>(x.size() - 1));
}

struct outcome {
  floats advantages;
  advantage_counts counts;
};

outcome compute(const floats& rewards, const sizes& groups,
                const advantage_settings& settings) {
  outcome out{floats(rewards.size(), NAN), {}};
  out.counts = compute_advantages(rewards, groups, settings, out.advantages);
  return out;
}

/// The formulas, for groups whose rewards are finite.
doubles expected(const floats& rewards, const sizes& groups,
                 const advantage_settings& settings) {
  doubles differences, deviations;
  auto next = rewards.begin();
  for (const auto size : groups) {
    const doubles group(next, next + size);
    next += size;
    for (std::size_t i = 0; i < group.size(); ++i) {
      doubles others = group;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      differences.push_back(size == 1 ? 0
                            : settings.baseline == group_mean
                              ? group[i] - mean(group)
                              : group[i] - mean(others));
      deviations.push_back(size == 1 ? 0 : deviation(group));
    }
  }
  const double of_batch = settings.scale == batch_std
                            ? deviation(widen(rewards))
                            : deviation(differences);
  for (std::size_t i = 0; i < differences.size(); ++i)
    differences[i] /= settings.scale == advantage_scale::none ? 1
                      : settings.scale == group_std ? deviations[i] + 1e-4
                                                    : of_batch + 1e-4;
  return differences;
}

constexpr advantage_scale scales[] = {group_std, advantage_scale::none,
                                      batch_std, batch_advantage_std};

} // namespace

TEST_CASE("advantages are those of the formulas for each baseline and scale") {
  const sizes groups{4, 1, 7, 2, 3};
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    auto rewards = noise(17, seed, 3);
    for (std::size_t i = 14; i < 17; ++i)
      rewards[i] = 0.3F; // a group of equal rewards
    for (const auto baseline : {group_mean, leave_one_out})
      for (const auto scale : scales) {
        CAPTURE(int(baseline));
        CAPTURE(int(scale));
        const auto got = compute(rewards, groups, {baseline, scale});
        CHECK(
          error_of(got.advantages, expected(rewards, groups, {baseline, scale}))
          < 1e-6);
        CHECK(got.counts.num_flat_groups == 2);
        CHECK(got.counts.num_nonfinite == 0);
        for (const std::size_t flat : {4, 14, 15, 16})
          CHECK(got.advantages[flat] == 0);
      }
  }
}

TEST_CASE("rewards that are not finite are left out and counted") {
  const floats bad{1, NAN, 3, 2, INFINITY, NAN, -INFINITY, 5};
  const floats good{1, 3, 2, 5};
  for (const auto baseline : {group_mean, leave_one_out})
    for (const auto scale : scales) {
      const auto got = compute(bad, {5, 2, 1}, {baseline, scale});
      const auto clean = compute(good, {3, 1}, {baseline, scale});
      CHECK(got.counts.num_nonfinite == 4);
      CHECK(got.counts.num_flat_groups == 2);
      for (const std::size_t i : {1, 4, 5, 6, 7})
        CHECK(got.advantages[i] == 0);
      CHECK(got.advantages[0] == clean.advantages[0]);
      CHECK(got.advantages[2] == clean.advantages[1]);
      CHECK(got.advantages[3] == clean.advantages[2]);
    }
}

TEST_CASE("batches that are empty or flat have advantages of exactly 0") {
  for (const auto scale : scales) {
    CHECK(compute({}, {}, {group_mean, scale}).advantages.empty());
    CHECK(compute({}, {0, 0}, {group_mean, scale}).counts.num_flat_groups == 2);
    const floats flat(6, 3.3F);
    CHECK(is_same(compute(flat, {3, 3}, {leave_one_out, scale}).advantages,
                  floats(6, 0)));
  }
}

TEST_CASE("the overlong penalty falls from 0 to -1 over the margin") {
  CHECK(overlong_penalty(0, 100, 20) == 0);
  CHECK(overlong_penalty(80, 100, 20) == 0);
  CHECK(overlong_penalty(81, 100, 20) == doctest::Approx(-0.05));
  CHECK(overlong_penalty(95, 100, 20) == doctest::Approx(-0.75));
  CHECK(overlong_penalty(100, 100, 20) == -1);
  CHECK(overlong_penalty(130, 100, 20) == -1);
}

} // namespace troupe::kernels::testing
