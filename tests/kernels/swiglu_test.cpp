// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu.hpp"
#include "tests/kernels/fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

doubles reference(const doubles& gate, const doubles& up) {
  doubles y(gate.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  return y;
}

} // namespace

TEST_CASE("swiglu and its gradient equal a reference in double") {
  thread_pool pool(2);
  for (const std::int64_t F : {1, 16, 37}) {
    const floats gate = noise(5 * F, 1, 10), up = noise(5 * F, 2);
    const floats dy = noise(5 * F, 3);
    floats y(gate.size(), NAN), dgate = y, dup = y;
    swiglu(view(gate, F), view(up, F), view(y, F), pool);
    doubles wide_gate = widen(gate), wide_up = widen(up);
    CHECK(error_of(y, reference(wide_gate, wide_up)) < 1e-6);
    swiglu_grad(view(dy, F), view(gate, F), view(up, F), view(dgate, F),
                view(dup, F), pool);
    const auto loss = [&] {
      const doubles out = reference(wide_gate, wide_up);
      double total = 0;
      for (std::size_t i = 0; i < out.size(); ++i)
        total += out[i] * double{dy[i]};
      return total;
    };
    CHECK(error_of(dgate, slopes(wide_gate, loss)) < 1e-5);
    CHECK(error_of(dup, slopes(wide_up, loss)) < 1e-5);
  }
}

TEST_CASE("swiglu holds at large gates and has the same bits on each CPU") {
  thread_pool pool(2);
  const floats gate{-1e4F, -100, -88.5F, -87.35F, -20, 0, 20, 88.4F, 100, 1e4F};
  const floats up(gate.size(), 1);
  floats y(gate.size());
  swiglu(view(gate, 10), view(up, 10), view(y, 10), pool);
  CHECK(error_of(y, reference(widen(gate), widen(up))) < 1e-6);
  const floats many = noise(700 * 384, 4, 30), ups = noise(700 * 384, 5);
  CHECK(is_same_everywhere([&] {
    floats z(many.size()), dgate = z, dup = z;
    swiglu(view(many, 384), view(ups, 384), view(z, 384), pool);
    swiglu_grad(view(ups, 384), view(many, 384), view(ups, 384),
                view(dgate, 384), view(dup, 384), pool);
    z.insert(z.end(), dgate.begin(), dgate.end());
    z.insert(z.end(), dup.begin(), dup.end());
    return z;
  }));
}

} // namespace troupe::kernels::testing
