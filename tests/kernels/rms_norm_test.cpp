// SPDX-License-Identifier: Apache-2.0
#include "kernels/rms_norm.hpp"
#include "tests/kernels/fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

constexpr float eps = 1e-5F;

doubles reference(const doubles& x, const doubles& weight) {
  const std::size_t D = weight.size();
  doubles y(x.size());
  for (std::size_t t = 0; t < x.size(); t += D) {
    double squares = 0;
    for (std::size_t d = 0; d < D; ++d)
      squares += x[t + d] * x[t + d];
    const double scale =
      1 / std::sqrt(squares / static_cast<double>(D) + double{eps});
    for (std::size_t d = 0; d < D; ++d)
      y[t + d] = x[t + d] * scale * weight[d];
  }
  return y;
}

} // namespace

TEST_CASE("rms_norm and its gradient equal a reference in double") {
  thread_pool pool(2);
  for (const std::int64_t D : {1, 5, 16, 33, 64}) {
    constexpr std::int64_t T = 3;
    const floats x = noise(T * D, 1), weight = noise(D, 2),
                 dy = noise(T * D, 3);
    floats y(x.size(), NAN), inv_rms(T), dx(x.size(), NAN),
      dweight(weight.size(), 1);
    rms_norm(view(x, D), weight.data(), eps, view(y, D), inv_rms.data(), pool);
    doubles wide_x = widen(x), wide_weight = widen(weight);
    CHECK(error_of(y, reference(wide_x, wide_weight)) < 1e-6);

    rms_norm_grad(view(dy, D), view(x, D), weight.data(), inv_rms.data(),
                  view(dx, D), dweight.data(), pool);
    const auto loss = [&] {
      const doubles out = reference(wide_x, wide_weight);
      double total = 0;
      for (std::size_t i = 0; i < out.size(); ++i)
        total += out[i] * double{dy[i]};
      return total;
    };
    CHECK(error_of(dx, slopes(wide_x, loss)) < 1e-4);
    doubles expected = slopes(wide_weight, loss);
    for (double& v : expected)
      v += 1; // dweight is added to
    CHECK(error_of(dweight, expected) < 1e-4);
  }
}

TEST_CASE("rms_norm has the same bits on each CPU, for any rows and threads") {
  thread_pool one(1), two(2);
  constexpr std::int64_t T = 900, D = 576; // enough to run in parallel
  const floats x = noise(T * D, 4), weight = noise(D, 5), dy = noise(T * D, 6);
  const auto run = [&](std::int64_t chunk, thread_pool& pool) {
    floats y(x.size()), inv_rms(T), dx(x.size()), dweight(weight.size());
    for (std::int64_t t = 0; t < T; t += chunk)
      rms_norm({x.data() + t * D, chunk, D}, weight.data(), eps,
               {y.data() + t * D, chunk, D}, inv_rms.data() + t, pool);
    rms_norm_grad(view(dy, D), view(x, D), weight.data(), inv_rms.data(),
                  view(dx, D), dweight.data(), pool);
    y.insert(y.end(), dx.begin(), dx.end());
    y.insert(y.end(), dweight.begin(), dweight.end());
    return y;
  };
  CHECK(is_same(run(T, two), run(1, one)));
  CHECK(is_same_everywhere([&] { return run(T, two); }));
}

} // namespace troupe::kernels::testing
