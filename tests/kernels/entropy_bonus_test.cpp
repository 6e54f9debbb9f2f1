// SPDX-License-Identifier: Apache-2.0
#include "kernels/entropy_bonus.hpp"

#include "kernels/softmax.hpp"
#include "tests/kernels/fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

constexpr std::int64_t vocabulary = 37;
const std::vector<std::int32_t> targets{3, 36, 0, 20};
const floats of_logprobs{0.7F, 0, -1.3F, 0};
const floats of_entropies{-0.2F, -0.5F, 0, 0};

/// sum_t a logprob + b entropy, in double.
double objective(const doubles& logits, double temperature) {
  double out = 0;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const auto* row = logits.data() + t * vocabulary;
    double total = 0, entropy = 0;
    for (int v = 0; v < vocabulary; ++v)
      total += std::exp(row[v] / temperature);
    for (int v = 0; v < vocabulary; ++v) {
      const double logprob = row[v] / temperature - std::log(total);
      entropy -= std::exp(logprob) * logprob;
    }
    out +=
      double{of_logprobs[t]} * (row[targets[t]] / temperature - std::log(total))
      + double{of_entropies[t]} * entropy;
  }
  return out;
}

floats gradient(floats logits, float temperature) {
  thread_pool pool{1};
  floats logprobs(4), entropies(4), sums(4);
  token_logprobs(view(logits, vocabulary), targets, temperature,
                 logprobs.data(), entropies.data(), sums.data(), pool);
  token_objective_grad(view(logits, vocabulary), targets, temperature,
                       sums.data(), entropies.data(),
                       {of_logprobs.data(), of_entropies.data()}, pool);
  return logits;
}

} // namespace

TEST_CASE("logprob and entropy slopes equal differences in double") {
  for (const float temperature : {1.0F, 0.6F}) {
    const auto logits = noise(4 * vocabulary, 5, 3);
    auto x = widen(logits);
    const auto expected =
      slopes(x, [&] { return objective(x, double{temperature}); });
    const auto got = gradient(logits, temperature);
    CHECK(error_of(got, expected) < 2e-7 / 0.6);
    for (std::size_t v = 3 * vocabulary; v < got.size(); ++v)
      CHECK(got[v] == 0);
  }
}

TEST_CASE("a token that cannot come has an entropy slope of 0") {
  auto logits = noise(4 * vocabulary, 5, 3);
  logits[7] = -std::numeric_limits<float>::infinity();
  const auto got = gradient(logits, 1);
  CHECK(got[7] == 0);
  CHECK(std::all_of(got.begin(), got.end(),
                    [](float g) { return std::isfinite(g); }));
}

TEST_CASE("the entropy slopes have the same bits on every instruction set") {
  CHECK(is_same_everywhere(
    [] { return gradient(noise(4 * vocabulary, 9, 3), 0.8F); }));
}

} // namespace troupe::kernels::testing
