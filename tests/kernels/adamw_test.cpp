// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw.hpp"
#include "tests/kernels/fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

TEST_CASE("adamw follows torch.optim.AdamW over several steps") {
  thread_pool pool(2);
  constexpr std::int64_t n = 37;
  floats w = noise(n, 1), m(n, 0), v(n, 0);
  doubles wide_w = widen(w), wide_m(n, 0), wide_v(n, 0);
  for (std::int64_t step = 1; step <= 20; ++step) {
    const floats g = noise(n, static_cast<std::uint64_t>(step) + 10, 3);
    adamw_settings s;
    s.learning_rate = 1e-2;
    s.beta2 = 0.99;
    s.weight_decay = 0.1;
    s.step = step;
    s.grad_scale = 0.5F;
    adamw(w, g, m, v, s, pool);
    const double correction1 = 1 - std::pow(s.beta1, step);
    const double correction2 = 1 - std::pow(s.beta2, step);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double gradient = double{g[i]} * 0.5;
      wide_w[i] *= 1 - s.learning_rate * s.weight_decay;
      wide_m[i] += (gradient - wide_m[i]) * (1 - s.beta1);
      wide_v[i] = s.beta2 * wide_v[i] + (1 - s.beta2) * gradient * gradient;
      wide_w[i] -=
        s.learning_rate / correction1 * wide_m[i]
        / (std::sqrt(wide_v[i]) / std::sqrt(correction2) + s.epsilon);
    }
    CHECK(error_of(w, wide_w) < 1e-6);
    CHECK(error_of(m, wide_m) < 1e-6);
    CHECK(error_of(v, wide_v) < 1e-6);
  }
}

TEST_CASE("adamw and sum_of_squares have the same bits on each CPU") {
  thread_pool one(1), three(3);
  for (const std::int64_t n : {1, 15, 1000, 500003}) {
    const floats w = noise(n, 2), g = noise(n, 3);
    adamw_settings settings;
    settings.learning_rate = 0.1;
    settings.step = 3;
    const auto run = [&](thread_pool& pool) {
      floats updated = w, m(w.size(), 0.5F), v(w.size(), 0.5F);
      adamw(updated, g, m, v, settings, pool);
      return updated;
    };
    CHECK(is_same(run(one), run(three)));
    CHECK(sum_of_squares(w, one) == sum_of_squares(w, three));
    CHECK(is_same_everywhere([&] {
      auto updated = run(three);
      updated.push_back(static_cast<float>(sum_of_squares(w, three)));
      return updated;
    }));
    double expected = 0;
    for (const float x : w)
      expected += double{x} * double{x};
    CHECK(sum_of_squares(w, three) == doctest::Approx(expected).epsilon(1e-12));
  }
}

} // namespace troupe::kernels::testing
