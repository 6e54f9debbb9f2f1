// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation.hpp"
#include "tests/kernels/fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

constexpr activation all[] = {activation::silu, activation::gelu,
                              activation::gelu_tanh, activation::relu};

double exact(activation f, double x) {
  switch (f) {
  case activation::silu: return x / (1 + std::exp(-x));
  case activation::gelu: return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  case activation::gelu_tanh:
    return x / 2
           * (1
              + std::tanh(std::sqrt(2 / 3.14159265358979)
                          * (x + 0.044715 * x * x * x)));
  case activation::relu: return x > 0 ? x : 0;
  }
  return NAN;
}

doubles reference(activation f, const doubles& gate, const doubles& up) {
  doubles y(gate.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = exact(f, gate[i]) * up[i];
  return y;
}

} // namespace

TEST_CASE("activations, gated or not, and gradients equal a reference") {
  thread_pool pool(2);
  for (const auto f : all)
    for (const std::int64_t F : {1, 16, 37}) {
      CAPTURE(static_cast<int>(f));
      const floats gate = noise(5 * F, 1, 10), up = noise(5 * F, 2);
      const floats dy = noise(5 * F, 3);
      floats y(gate.size(), NAN), dgate = y, dup = y;
      gated(view(gate, F), view(up, F), f, view(y, F), pool);
      doubles wide_gate = widen(gate), wide_up = widen(up);
      CHECK(error_of(y, reference(f, wide_gate, wide_up)) < 2e-6);
      gated_grad(view(dy, F), view(gate, F), view(up, F), f, view(dgate, F),
                 view(dup, F), pool);
      const auto loss = [&] {
        const doubles out = reference(f, wide_gate, wide_up);
        double total = 0;
        for (std::size_t i = 0; i < out.size(); ++i)
          total += out[i] * double{dy[i]};
        return total;
      };
      CHECK(error_of(dgate, slopes(wide_gate, loss)) < 1e-5);
      CHECK(error_of(dup, slopes(wide_up, loss)) < 1e-5);

      wide_up.assign(wide_up.size(), 1);
      activate(view(gate, F), f, view(y, F), pool);
      CHECK(error_of(y, reference(f, wide_gate, wide_up)) < 2e-6);
      activate_grad(view(dy, F), view(gate, F), f, view(dgate, F), pool);
      CHECK(error_of(dgate, slopes(wide_gate, loss)) < 1e-5);
    }
}

TEST_CASE("activations hold at large gates and have the same bits on each "
          "CPU") {
  thread_pool pool(2);
  for (const auto f : all) {
    CAPTURE(static_cast<int>(f));
    const floats gate{-1e4F, -100, -88.5F, -87.35F, -20,
                      0,     20,   88.4F,  100,     1e4F};
    const floats up(gate.size(), 1);
    floats y(gate.size());
    gated(view(gate, 10), view(up, 10), f, view(y, 10), pool);
    CHECK(error_of(y, reference(f, widen(gate), widen(up))) < 1e-6);
    const floats many = noise(700 * 384, 4, 30), ups = noise(700 * 384, 5);
    CHECK(is_same_everywhere([&] {
      floats z(many.size()), dgate = z, dup = z;
      gated(view(many, 384), view(ups, 384), f, view(z, 384), pool);
      gated_grad(view(ups, 384), view(many, 384), view(ups, 384), f,
                 view(dgate, 384), view(dup, 384), pool);
      z.insert(z.end(), dgate.begin(), dgate.end());
      z.insert(z.end(), dup.begin(), dup.end());
      return z;
    }));
  }
}

} // namespace troupe::kernels::testing
