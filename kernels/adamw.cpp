// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw.hpp"

#include "kernels/adamw_factors.hpp"
#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adamw.cpp"
#include "hwy/foreach_target.h"

#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

void update(float* weights, const float* gradients, float* first, float* second,
            const adamw_factors& f, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += 16) {
    const std::int64_t n = HWY_MIN(end - i, 16);
    const lanes g = mul(load_n(gradients + i, n), set(f.grad_scale));
    lanes m = load_n(first + i, n);
    m = fma(sub(g, m), set(f.beta1_rest), m);
    store_n(m, first + i, n);
    const lanes v = fma(mul(g, set(f.beta2_rest)), g,
                        mul(load_n(second + i, n), set(f.beta2)));
    store_n(v, second + i, n);
    const lanes denominator = fma(sqrt(v), set(f.inverse_root), set(f.epsilon));
    const lanes w = mul(load_n(weights + i, n), set(f.decay));
    store_n(fnma(set(f.step_size), div(m, denominator), w), weights + i, n);
  }
}

/// A product of two floats is exact in double, so no order but that of the
/// 16 sums matters.
void sum_squares(const float* values, std::int64_t size, double* result) {
  double sums[16] = {};
  std::int64_t i = 0;
  for (; i + 16 <= size; i += 16)
    for (int j = 0; j < 16; ++j)
      sums[j] += double{values[i + j]} * double{values[i + j]};
  for (int j = 0; i + j < size; ++j)
    sums[j] += double{values[i + j]} * double{values[i + j]};
  for (int half = 8; half > 0; half /= 2)
    for (int j = 0; j < half; ++j)
      sums[j] += sums[j + half];
  *result = sums[0];
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>

namespace troupe::kernels {

HWY_EXPORT(update);
HWY_EXPORT(sum_squares);

namespace {

/// std::pow differs in its last bit from one CPU to another; this does not.
double power(double base, std::int64_t exponent) {
  double y = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 == 1)
      y *= base;
  return y;
}

adamw_factors factors_of(const adamw_settings& s) {
  const double rate = s.learning_rate;
  const double correction1 = 1 - power(s.beta1, s.step);
  const double correction2 = 1 - power(s.beta2, s.step);
  return {
    .grad_scale = s.grad_scale,
    .decay = static_cast<float>(1 - rate * s.weight_decay),
    .step_size = static_cast<float>(rate / correction1),
    .inverse_root = static_cast<float>(1 / std::sqrt(correction2)),
    .epsilon = static_cast<float>(s.epsilon),
    .beta1_rest = static_cast<float>(1 - s.beta1),
    .beta2 = static_cast<float>(s.beta2),
    .beta2_rest = static_cast<float>(1 - s.beta2),
  };
}

} // namespace

void adamw(std::span<float> weights, std::span<const float> gradients,
           std::span<float> first_moment, std::span<float> second_moment,
           const adamw_settings& settings, thread_pool& pool) {
  const auto f = factors_of(settings);
  const auto n = static_cast<std::int64_t>(weights.size());
  in_parallel(pool, n, 16, n * 2, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(update)
    (weights.data(), gradients.data(), first_moment.data(),
     second_moment.data(), f, begin, end);
  });
}

double sum_of_squares(std::span<const float> values, thread_pool& pool) {
  // Parts depend on the size alone, so that the bits do not depend on threads.
  constexpr std::int64_t num_parts = 64;
  const auto n = static_cast<std::int64_t>(values.size());
  const std::int64_t part = (n + num_parts - 1) / num_parts;
  std::array<double, num_parts> sums{};
  in_parallel(pool, num_parts, 1, n / 3,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t p = begin; p < end; ++p) {
                  const std::int64_t first = std::min(p * part, n);
                  HWY_DYNAMIC_DISPATCH(sum_squares)
                  (values.data() + first, std::min(part, n - first),
                   &sums[static_cast<std::size_t>(p)]);
                }
              });
  double total = 0;
  for (const double s : sums)
    total += s;
  return total;
}

} // namespace troupe::kernels
#endif
