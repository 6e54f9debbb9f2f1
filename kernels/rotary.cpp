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
                 const float* sines, std::int64_t half, float sign,
                 std::int64_t begin, std::int64_t end) {
  const std::int64_t width = x.cols / num_heads;
  for (std::int64_t t = begin; t < end; ++t) {
    const float* cos_row = cosines + positions[t] * half;
    const float* sin_row = sines + positions[t] * half;
    for (std::int64_t h = 0; h < num_heads; ++h) {
      float* low = x.row(t) + h * width;
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

std::vector<double> rotary_frequencies(std::int64_t width, double theta) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < width / 2; ++i)
    frequencies.push_back(std::pow(theta, -2.0 * static_cast<double>(i)
                                            / static_cast<double>(width)));
  return frequencies;
}

void append_position(rotary_table& table, std::span<const double> frequencies,
                     double factor) {
  table.half_width = static_cast<std::int64_t>(frequencies.size());
  const auto position =
    static_cast<double>(table.cos.size() / frequencies.size());
  for (const double frequency : frequencies) {
    const double angle = position * frequency;
    table.cos.push_back(static_cast<float>(factor * std::cos(angle)));
    table.sin.push_back(static_cast<float>(factor * std::sin(angle)));
  }
}

rotary_table make_rotary_table(std::int64_t num_positions, std::int64_t width,
                               double theta) {
  rotary_table table;
  const auto frequencies = rotary_frequencies(width, theta);
  for (std::int64_t p = 0; p < num_positions; ++p)
    append_position(table, frequencies);
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
                 table.half_width, sign, begin, end);
              });
}

} // namespace troupe::kernels
#endif
