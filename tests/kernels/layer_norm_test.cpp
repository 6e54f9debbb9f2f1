// SPDX-License-Identifier: Apache-2.0
#include "kernels/layer_norm.hpp"
#include "tests/kernels/fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

constexpr float eps = 1e-5F;

doubles reference(const doubles& x, const doubles& weight,
                  const doubles& bias) {
  const std::size_t D = weight.size();
  doubles y(x.size());
  for (std::size_t t = 0; t < x.size(); t += D) {
    double mean = 0, squares = 0;
    for (std::size_t d = 0; d < D; ++d)
      mean += x[t + d] / static_cast<double>(D);
    for (std::size_t d = 0; d < D; ++d)
      squares += (x[t + d] - mean) * (x[t + d] - mean);
    const double scale =
      1 / std::sqrt(squares / static_cast<double>(D) + double{eps});
    for (std::size_t d = 0; d < D; ++d)
      y[t + d] = (x[t + d] - mean) * scale * weight[d] + bias[d];
  }
  return y;
}

} // namespace

TEST_CASE("layer_norm and its gradient equal a reference in double") {
  thread_pool pool(2);
  for (const std::int64_t D : {2, 5, 16, 33, 64}) {
    constexpr std::int64_t T = 3;
    CAPTURE(D);
    floats x = noise(T * D, 1);
    for (float& v : x)
      v += 4; // a mean that must be taken out
    const floats weight = noise(D, 2), bias = noise(D, 3), dy = noise(T * D, 4);
    floats y(x.size(), NAN), dx(x.size(), NAN), dweight(weight.size(), 1),
      dbias(bias.size(), 1);
    std::vector<row_moments> moments(T);
    layer_norm(view(x, D), weight.data(), bias.data(), eps, view(y, D),
               moments.data(), pool);
    doubles wide_x = widen(x), wide_weight = widen(weight),
            wide_bias = widen(bias);
    CHECK(error_of(y, reference(wide_x, wide_weight, wide_bias)) < 4e-6);

    layer_norm_grad(view(dy, D), view(x, D), weight.data(), moments.data(),
                    view(dx, D), dweight.data(), dbias.data(), pool);
    const auto loss = [&] {
      const doubles out = reference(wide_x, wide_weight, wide_bias);
      double total = 0;
      for (std::size_t i = 0; i < out.size(); ++i)
        total += out[i] * double{dy[i]};
      return total;
    };
    CHECK(error_of(dx, slopes(wide_x, loss)) < 1e-4);
    for (auto [found, variable] :
         {std::pair{&dweight, &wide_weight}, std::pair{&dbias, &wide_bias}}) {
      doubles expected = slopes(*variable, loss);
      for (double& v : expected)
        v += 1; // they are added to
      CHECK(error_of(*found, expected) < 1e-4);
    }
  }
}

TEST_CASE("layer_norm has the same bits on each CPU for any rows and threads") {
  thread_pool one(1), two(2);
  constexpr std::int64_t T = 900, D = 576; // enough to run in parallel
  const floats x = noise(T * D, 4), weight = noise(D, 5), bias = noise(D, 6),
               dy = noise(T * D, 7);
  const auto run = [&](std::int64_t chunk, thread_pool& pool) {
    floats y(x.size()), dx(x.size()), dweight(weight.size()),
      dbias(bias.size());
    std::vector<row_moments> moments(T);
    for (std::int64_t t = 0; t < T; t += chunk)
      layer_norm({x.data() + t * D, chunk, D}, weight.data(), bias.data(), eps,
                 {y.data() + t * D, chunk, D}, moments.data() + t, pool);
    layer_norm_grad(view(dy, D), view(x, D), weight.data(), moments.data(),
                    view(dx, D), dweight.data(), dbias.data(), pool);
    for (const auto& part : {dx, dweight, dbias})
      y.insert(y.end(), part.begin(), part.end());
    return y;
  };
  CHECK(is_same(run(T, two), run(1, one)));
  CHECK(is_same_everywhere([&] { return run(T, two); }));
}

} // namespace troupe::kernels::testing
