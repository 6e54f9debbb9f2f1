// SPDX-License-Identifier: Apache-2.0
#include "kernels/sampling.hpp"
#include "kernels/softmax.hpp"
#include "tests/kernels/fixture.hpp"

#include <limits>
#include <map>

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

sampled_token draw(const floats& logits, const sampling_settings& settings,
                   double u) {
  floats scratch(logits.size());
  return sample_token(logits, settings, u, scratch);
}

/// Which ids come up over a fine grid of u, and how often.
std::map<std::int32_t, int> ids_of(const floats& logits,
                                   const sampling_settings& settings,
                                   int num_draws = 1000) {
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < num_draws; ++i)
    ++counts[draw(logits, settings, (i + 0.5) / num_draws).id];
  return counts;
}

/// Logits whose softmax is `p`.
floats logits_of(const doubles& p) {
  floats y;
  for (const double v : p)
    y.push_back(static_cast<float>(std::log(v)));
  return y;
}

} // namespace

TEST_CASE("greedy takes the lowest id among the largest") {
  floats logits(100, 0);
  logits[41] = logits[40] = logits[77] = 3;
  const auto token = draw(logits, {.temperature = 0}, 0.99);
  CHECK(token.id == 40);
  CHECK(token.logprob == doctest::Approx(3 - std::log(97 + 3 * std::exp(3.0))));
  CHECK(token.filtered_logprob == 0);
}

TEST_CASE("inversion walks the ids upwards") {
  const floats logits = logits_of({0.5, 0.2, 0.3});
  CHECK(draw(logits, {}, 0).id == 0);
  CHECK(draw(logits, {}, 0.499).id == 0);
  CHECK(draw(logits, {}, 0.501).id == 1);
  CHECK(draw(logits, {}, 0.699).id == 1);
  CHECK(draw(logits, {}, 0.701).id == 2);
  CHECK(draw(logits, {}, 1 - 0x1p-53).id == 2);
  // An id without probability is never drawn, first or last.
  const floats bare{-infinity, 0, -infinity};
  CHECK(draw(bare, {}, 0).id == 1);
  CHECK(draw(bare, {}, 1 - 0x1p-53).id == 1);
}

TEST_CASE("top-k keeps k ids, the lowest among equals") {
  const floats logits = logits_of({0.1, 0.3, 0.2, 0.2, 0.2});
  using counts = std::map<std::int32_t, int>;
  CHECK(ids_of(logits, {.top_k = 1}) == counts{{1, 1000}});
  CHECK(ids_of(logits, {.top_k = 2}) == counts{{1, 600}, {2, 400}});
  CHECK(ids_of(logits, {.top_k = 4}).size() == 4);
  CHECK(ids_of(logits, {.top_k = 4}).count(0) == 0);
  CHECK(ids_of(logits, {.top_k = 5}).size() == 5);
  CHECK(ids_of(logits, {.top_k = 500}).size() == 5);
  const auto token = draw(logits, {.top_k = 2}, 0.9);
  CHECK(token.logprob == doctest::Approx(std::log(0.2)));
  CHECK(token.filtered_logprob == doctest::Approx(std::log(0.4)));
}

TEST_CASE("top-p keeps the token that crosses p, and one at least") {
  const floats logits = logits_of({0.125, 0.5, 0.25, 0.125});
  using counts = std::map<std::int32_t, int>;
  CHECK(ids_of(logits, {.top_p = 0}) == counts{{1, 1000}});
  CHECK(ids_of(logits, {.top_p = 0.49F}) == counts{{1, 1000}});
  CHECK(ids_of(logits, {.top_p = 0.51F}) == counts{{1, 667}, {2, 333}});
  CHECK(ids_of(logits, {.top_p = 0.76F}).size() == 3);
  CHECK(ids_of(logits, {.top_p = 0.76F}).count(3) == 0);
  CHECK(ids_of(logits, {.top_p = 0.9F}).size() == 4);
  CHECK(ids_of(logits, {.top_p = 1}).size() == 4);
  // After top-k, p counts in what top-k kept.
  CHECK(ids_of(logits, {.top_k = 2, .top_p = 0.6F}) == counts{{1, 1000}});
  CHECK(ids_of(logits, {.top_k = 2, .top_p = 0.7F}).size() == 2);
  const auto token = draw(logits, {.top_p = 0.51F}, 0.9);
  CHECK(token.filtered_logprob == doctest::Approx(std::log(1.0 / 3)));
}

TEST_CASE("filters agree with sorting on many random rows") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const floats logits = noise(400, seed, 6);
    doubles p;
    double total = 0;
    for (const float z : logits)
      total += std::exp(double{z} / 0.8);
    for (const float z : logits)
      p.push_back(std::exp(double{z} / 0.8) / total);
    doubles sorted = p;
    std::sort(sorted.rbegin(), sorted.rend());
    double kept = 0, mass = 0;
    for (std::size_t i = 0; i < 50; ++i)
      mass += sorted[i];
    std::size_t num_kept = 0;
    while (kept < 0.85 * mass)
      kept += sorted[num_kept++];
    const double bound = sorted[num_kept - 1] * (1 - 1e-9);
    for (int i = 0; i < 50; ++i) {
      const auto token =
        draw(logits, {.temperature = 0.8F, .top_k = 50, .top_p = 0.85F},
             (i + 0.5) / 50);
      const double mine = p[static_cast<std::size_t>(token.id)];
      CHECK(mine >= bound);
      CHECK(token.filtered_logprob
            == doctest::Approx(std::log(mine / kept)).epsilon(1e-5));
    }
  }
}

TEST_CASE("draws follow the distribution") {
  const floats logits = noise(50, 3, 2);
  constexpr int num_draws = 50000;
  std::vector<int> counts(50);
  for (std::uint32_t i = 0; i < num_draws; ++i)
    ++counts[static_cast<std::size_t>(
      draw(logits, {.temperature = 1.5F},
           uniform({.job_seed = 9, .position = i}))
        .id)];
  double total = 0, chi_square = 0;
  for (const float z : logits)
    total += std::exp(double{z} / 1.5);
  for (std::size_t v = 0; v < 50; ++v) {
    const double expected =
      num_draws * std::exp(double{logits[v]} / 1.5) / total;
    chi_square += std::pow(counts[v] - expected, 2) / expected;
  }
  CHECK(chi_square < 94); // 49 degrees of freedom: p = 0.0001
}

TEST_CASE("logprob has the bits of token_logprobs") {
  thread_pool pool(1);
  for (const float temperature : {1.0F, 0.6F, 0.0F})
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const floats logits = noise(517, seed, 9);
      const auto token =
        draw(logits, {.temperature = temperature, .top_k = 40, .top_p = 0.9F},
             static_cast<double>(seed) / 50);
      float expected = 0;
      token_logprobs(view(logits, 517), std::vector<std::int32_t>{token.id},
                     temperature > 0 ? temperature : 1, &expected, nullptr,
                     nullptr, pool);
      CHECK(token.logprob == expected);
    }
}

TEST_CASE("rows with NaN or infinite logits fall back to greedy") {
  floats logits{1, NAN, 3, 2};
  for (const float temperature : {0.0F, 1.0F}) {
    auto token = draw(logits, {.temperature = temperature}, 0.1);
    CHECK(token.id == 2);
    CHECK(std::isnan(token.logprob));
  }
  CHECK(draw({0, infinity, infinity}, {}, 0.9).id == 1);
  CHECK(draw({NAN, NAN}, {}, 0.9).id == 0);
  CHECK(draw({-infinity, -infinity}, {}, 0.9).id == 0);
  CHECK(draw({3e38F, -3e38F}, {}, 0.9).id == 0);
  CHECK(draw({3e38F, -3e38F}, {}, 0.9).logprob == 0);
}

TEST_CASE("sample_token draws the same on each CPU") {
  const floats logits = noise(2000, 4, 8);
  CHECK(is_same_everywhere([&] {
    floats all;
    for (int i = 0; i < 40; ++i) {
      const auto token = draw(
        logits, {.temperature = 0.9F, .top_k = 300, .top_p = 0.95F}, i / 40.0);
      all.insert(all.end(), {static_cast<float>(token.id), token.logprob,
                             token.filtered_logprob});
    }
    return all;
  }));
}

} // namespace troupe::kernels::testing
