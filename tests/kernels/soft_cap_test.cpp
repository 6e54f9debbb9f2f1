// SPDX-License-Identifier: Apache-2.0
#include "kernels/soft_cap.hpp"
#include "tests/kernels/fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

TEST_CASE("soft_cap and its gradient equal a reference in double") {
  thread_pool pool(2);
  constexpr float cap = 3;
  constexpr std::int64_t N = 37;
  for (const float scale : {0.01F, 2.0F, 40.0F}) {
    const floats x = noise(5 * N, 1, scale), dy = noise(5 * N, 2);
    doubles wide = widen(x);
    const auto capped = [&] {
      doubles y(wide);
      for (double& v : y)
        v = double{cap} * std::tanh(v / double{cap});
      return y;
    };
    floats y = x, dx = dy;
    soft_cap(view(y, N), cap, pool);
    soft_cap_grad(view(y, N), cap, view(dx, N), pool);
    const auto expected = capped();
    CHECK(error_of(y, expected) < 1e-6);
    for (std::size_t i = 0; i < y.size(); ++i) // small values keep their digits
      CHECK(std::abs(double{y[i]} - expected[i])
            <= 5e-7 * std::abs(expected[i]));
    CHECK(error_of(dx, slopes(wide,
                              [&] {
                                const auto out = capped();
                                double total = 0;
                                for (std::size_t i = 0; i < out.size(); ++i)
                                  total += out[i] * double{dy[i]};
                                return total;
                              }))
          < 1e-5);
  }
}

TEST_CASE("soft_cap has the same bits on each CPU and bounds what is large") {
  thread_pool pool(2);
  floats large{-1e30F, -100, 100, 1e30F};
  soft_cap(view(large, 4), 30, pool);
  CHECK(large == floats{-30, large[1], large[2], 30});
  CHECK(large[2] < 30);
  const floats x = noise(900 * 50, 3, 60);
  CHECK(is_same_everywhere([&] {
    floats y = x, dx = x;
    soft_cap(view(y, 50), 30, pool);
    soft_cap_grad(view(y, 50), 30, view(dx, 50), pool);
    y.insert(y.end(), dx.begin(), dx.end());
    return y;
  }));
}

} // namespace troupe::kernels::testing
