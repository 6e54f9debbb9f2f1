// SPDX-License-Identifier: Apache-2.0
#include "kernels/scalar_math.hpp"

#include <cmath>
#include <initializer_list>
#include <limits>

#include "tests/support/doctest.hpp"

namespace troupe::kernels {

namespace {

double relative(double a, double b) {
  return a == b ? 0 : std::abs(a - b) / std::abs(b);
}

} // namespace

TEST_CASE("exp_of, log_of and exp_minus_line agree with the C library") {
  for (double x = -700; x < 700; x += 0.377) {
    CHECK(relative(exp_of(x), std::exp(x)) < 4e-16);
    CHECK(relative(log_of(std::exp(x)), std::log(std::exp(x))) < 4e-16);
  }
  for (double x = -3; x < 3; x += 0.0137)
    CHECK(relative(exp_minus_line(x), std::expm1(x) - x) < 1e-11);
  for (const double x : {1e-3, -1e-5, 1e-8}) {
    const double series = 1.0 / 2 + x / 6 + x * x / 24 + x * x * x / 120;
    CHECK(relative(exp_minus_line(x), x * x * series) < 1e-14);
  }
  for (double x = 0.5; x < 2; x += 0.00123)
    CHECK(relative(log_of(x), std::log(x)) < 4e-16);
}

TEST_CASE("the edges of exp_of and log_of") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(exp_of(0) == 1);
  CHECK(exp_of(-infinity) == 0);
  CHECK(exp_of(infinity) == infinity);
  CHECK(std::isnan(exp_of(nan)));
  CHECK(log_of(1) == 0);
  CHECK(log_of(0) == -infinity);
  CHECK(log_of(infinity) == infinity);
  CHECK(std::isnan(log_of(-1)));
  CHECK(std::isnan(log_of(nan)));
}

} // namespace troupe::kernels
