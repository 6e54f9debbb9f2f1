// SPDX-License-Identifier: Apache-2.0
#include "kernels/scalar_math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace troupe::kernels {

namespace {

constexpr double ln2_high =
  0x1.62e42fee00000p-1; // 33 bits: n times it is exact
constexpr double ln2_low = 0x1.a39ef35793c76p-33;
constexpr double infinity = std::numeric_limits<double>::infinity();

double power_of_two(std::int64_t n) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

/// e^r - 1 - r for |r| <= 0.35 by its Taylor series to r^14.
double series(double r) {
  double p = 0;
  for (int k = 14; k >= 3; --k)
    p = (p + 1) * r / k;
  return (p + 1) * r * r / 2;
}

} // namespace

double exp_of(double x) {
  if (std::isnan(x))
    return x;
  if (x > 709)
    return infinity;
  if (x < -708)
    return 0;
  const double n = std::nearbyint(x * 1.4426950408889634);
  const double r = (x - n * ln2_high) - n * ln2_low;
  return (1 + (r + series(r))) * power_of_two(static_cast<std::int64_t>(n));
}

double exp_minus_line(double x) {
  if (std::abs(x) <= 0.35)
    return series(x);
  return exp_of(x) - 1 - x;
}

double log_of(double x) {
  if (std::isnan(x) || x < 0)
    return std::numeric_limits<double>::quiet_NaN();
  if (x == 0)
    return -infinity;
  if (std::isinf(x))
    return x;
  int exponent = 0;
  double m = std::frexp(x, &exponent); // [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  // log m = 2 artanh(s), s = (m - 1) / (m + 1), |s| <= 0.172.
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double p = 0;
  for (int k = 21; k >= 3; k -= 2)
    p = (p + 1.0 / k) * z;
  return exponent * ln2_high + (2 * s + (2 * s * p + exponent * ln2_low));
}

} // namespace troupe::kernels
