// SPDX-License-Identifier: Apache-2.0
#include "kernels/rotary.hpp"

#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rotary.cpp"
#include "hwy/foreach_target.h"

#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

/// `sign` is 1 to rotate by the angle, -1 to rotate back.
void rotate_rows(matrix x, std::int64_t num_heads,
                 const std::int32_t* positions, const float* cosines,
                 const float* sines, float sign, std::int64_t begin,
                 std::int64_t end) {
  const std::int64_t half = x.cols / num_heads / 2;
  for (std::int64_t t = begin; t < end; ++t) {
    const float* cos_row = cosines + positions[t] * half;
    const float* sin_row = sines + positions[t] * half;
    for (std::int64_t h = 0; h < num_heads; ++h) {
      float* low = x.row(t) + h * 2 * half;
      float* high = low + half;
      for (std::int64_t e = 0; e < half; e += 16) {
        const std::int64_t n = HWY_MIN(half - e, 16);
        const lanes c = load_n(cos_row + e, n);
        const lanes s = mul(load_n(sin_row + e, n), set(sign));
        const lanes a = load_n(low + e, n);
        const lanes b = load_n(high + e, n);
        store_n(fnma(b, s, mul(a, c)), low + e, n);
        store_n(fma(a, s, mul(b, c)), high + e, n);
      }
    }
  }
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

HWY_EXPORT(rotate_rows);

rotary_table make_rotary_table(std::int64_t num_positions, std::int64_t width,
                               double theta) {
  rotary_table table;
  table.half_width = width / 2;
  const auto size = static_cast<std::size_t>(num_positions * table.half_width);
  table.cos.reserve(size);
  table.sin.reserve(size);
  for (std::int64_t p = 0; p < num_positions; ++p) {
    for (std::int64_t i = 0; i < table.half_width; ++i) {
      const double exponent =
        -2.0 * static_cast<double>(i) / static_cast<double>(width);
      const double angle = static_cast<double>(p) * std::pow(theta, exponent);
      table.cos.push_back(static_cast<float>(std::cos(angle)));
      table.sin.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return table;
}

void apply_rotary(matrix x, std::int64_t num_heads,
                  const std::int32_t* positions, const rotary_table& table,
                  rotation direction, thread_pool& pool) {
  const float sign = direction == rotation::forward ? 1.0F : -1.0F;
  in_parallel(pool, x.rows, 1, x.rows * x.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(rotate_rows)
                (x, num_heads, positions, table.cos.data(), table.sin.data(),
                 sign, begin, end);
              });
}

} // namespace troupe::kernels
#endif
