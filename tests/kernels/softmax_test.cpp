// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax.hpp"
#include "tests/kernels/fixture.hpp"

#include <limits>

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct result {
  floats logprobs, entropies, log_sum_exp;
};

result run(const floats& logits, std::int64_t V,
           const std::vector<std::int32_t>& targets, float temperature,
           thread_pool& pool) {
  const floats empty(targets.size(), NAN);
  result r{empty, empty, empty};
  token_logprobs(view(logits, V), targets, temperature, r.logprobs.data(),
                 r.entropies.data(), r.log_sum_exp.data(), pool);
  return r;
}

doubles log_softmax(const doubles& logits, std::size_t V, double temperature) {
  doubles y(logits.size());
  for (std::size_t t = 0; t < logits.size(); t += V) {
    double total = 0;
    for (std::size_t v = 0; v < V; ++v)
      total += std::exp(logits[t + v] / temperature);
    for (std::size_t v = 0; v < V; ++v)
      y[t + v] = logits[t + v] / temperature - std::log(total);
  }
  return y;
}

} // namespace

TEST_CASE("token_logprobs and its gradient equal a reference in double") {
  thread_pool pool(2);
  for (const std::int64_t V : {1, 15, 16, 50, 257}) {
    for (const float temperature : {1.0F, 0.7F}) {
      const auto width = static_cast<std::size_t>(V);
      const floats logits = noise(3 * V, 1, 8);
      const std::vector<std::int32_t> targets{
        0, static_cast<std::int32_t>(V / 2), static_cast<std::int32_t>(V - 1)};
      const floats coefficients{0.5F, -2, 1};
      const auto r = run(logits, V, targets, temperature, pool);
      doubles wide = widen(logits), logprobs, entropies;
      const auto pick = [&] {
        const auto all = log_softmax(wide, width, double{temperature});
        doubles picked;
        for (std::size_t t = 0; t < 3; ++t)
          picked.push_back(
            all[t * width + static_cast<std::size_t>(targets[t])]);
        return picked;
      };
      for (std::size_t t = 0; t < 3; ++t) {
        const auto all = log_softmax(wide, width, double{temperature});
        double entropy = 0;
        for (std::size_t v = 0; v < width; ++v)
          entropy -= std::exp(all[t * width + v]) * all[t * width + v];
        entropies.push_back(entropy);
      }
      CHECK(error_of(r.logprobs, pick()) < 1e-6);
      CHECK(error_of(r.entropies, entropies) < 2e-6);
      floats grads = logits;
      token_logprobs_grad(view(grads, V), targets, temperature,
                          r.log_sum_exp.data(), coefficients.data(), pool);
      const auto loss = [&] {
        double total = 0;
        const auto picked = pick();
        for (std::size_t t = 0; t < 3; ++t)
          total += double{coefficients[t]} * picked[t];
        return total;
      };
      CHECK(error_of(grads, slopes(wide, loss)) < 1e-5);
    }
  }
}

TEST_CASE("token_logprobs has the same bits on each CPU and in any company") {
  thread_pool one(1), three(3);
  constexpr std::int64_t T = 70, V = 1003;
  const floats logits = noise(T * V, 2, 20);
  std::vector<std::int32_t> targets;
  for (std::int32_t t = 0; t < T; ++t)
    targets.push_back(t * 13 % 1003);
  const auto all = run(logits, V, targets, 0.9F, three);
  for (std::int64_t t = 0; t < T; ++t) {
    const auto i = static_cast<std::size_t>(t);
    const floats row(logits.begin() + t * V, logits.begin() + (t + 1) * V);
    const auto alone = run(row, V, {targets[i]}, 0.9F, one);
    CHECK(alone.logprobs[0] == all.logprobs[i]);
    CHECK(alone.entropies[0] == all.entropies[i]);
    CHECK(alone.log_sum_exp[0] == all.log_sum_exp[i]);
  }
  CHECK(is_same_everywhere([&] {
    auto r = run(logits, V, targets, 0.9F, three);
    floats grads = logits;
    token_logprobs_grad(view(grads, V), targets, 0.9F, r.log_sum_exp.data(),
                        r.logprobs.data(), three);
    grads.insert(grads.end(), r.logprobs.begin(), r.logprobs.end());
    grads.insert(grads.end(), r.entropies.begin(), r.entropies.end());
    return grads;
  }));
}

TEST_CASE("token_logprobs at the edges") {
  thread_pool pool(1);
  floats logits(40, 0);
  logits[3] = -infinity;
  logits[4] = 1e4F;
  auto r = run(logits, 40, {4}, 1, pool);
  CHECK(r.logprobs[0] == 0);
  CHECK(r.entropies[0] == 0);
  CHECK(run(logits, 40, {3}, 1, pool).logprobs[0] == -infinity);
  CHECK(run(logits, 40, {5}, 1, pool).logprobs[0] == -1e4F);
  logits[17] = NAN;
  CHECK(std::isnan(run(logits, 40, {4}, 1, pool).logprobs[0]));
  logits[17] = infinity;
  CHECK(std::isnan(run(logits, 40, {4}, 1, pool).logprobs[0]));
}

TEST_CASE("a coefficient of 0 gives a gradient of 0, whatever the row holds") {
  thread_pool pool(1);
  floats logits(20, NAN);
  const floats lse(1, NAN), coefficients(1, 0);
  token_logprobs_grad(view(logits, 20), std::vector<std::int32_t>{1}, 1,
                      lse.data(), coefficients.data(), pool);
  CHECK(is_same(logits, floats(20, 0)));
}

} // namespace troupe::kernels::testing
