// SPDX-License-Identifier: Apache-2.0
//
// Sixteen floats, whatever the CPU's registers hold: one of AVX-512, two of
// AVX2, four of NEON, or an array in the portable twin. Each operation gives
// the same bits in all of them; it is compiled once for each instruction set,
// so it has Highway's toggle in place of an include guard.
#if defined(TROUPE_KERNELS_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef TROUPE_KERNELS_LANES
#undef TROUPE_KERNELS_LANES
#else
#define TROUPE_KERNELS_LANES
#endif

#include "kernels/registers.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {

/// Lane j is element j % lanes_per_register of r[j / lanes_per_register].
struct lanes {
  reg r[num_registers];
};

// NOLINTBEGIN(bugprone-macro-parentheses)
#define TROUPE_EACH_REGISTER                                                   \
  HWY_UNROLL(16) for (std::size_t i = 0; i < num_registers; ++i)

HWY_INLINE lanes set(float a) {
  lanes y;
  TROUPE_EACH_REGISTER y.r[i] = reg_set(a);
  return y;
}
HWY_INLINE lanes load(const float* p) {
  lanes y;
  TROUPE_EACH_REGISTER y.r[i] = reg_load(p + i * lanes_per_register);
  return y;
}
HWY_INLINE void store(lanes a, float* p) {
  TROUPE_EACH_REGISTER reg_store(a.r[i], p + i * lanes_per_register);
}
/// Lanes [0, n) of p, n <= 16, and `fill` in the others; reads no further.
HWY_INLINE lanes load_n(const float* p, std::int64_t n, float fill = 0) {
  lanes y;
  TROUPE_EACH_REGISTER {
    const auto first = static_cast<std::int64_t>(i * lanes_per_register);
    y.r[i] = n > first ? reg_load_n(p + first,
                                    static_cast<std::size_t>(n - first), fill)
                       : reg_set(fill);
  }
  return y;
}
HWY_INLINE void store_n(lanes a, float* p, std::int64_t n) {
  TROUPE_EACH_REGISTER {
    const auto first = static_cast<std::int64_t>(i * lanes_per_register);
    if (n > first)
      reg_store_n(a.r[i], p + first, static_cast<std::size_t>(n - first));
  }
}
/// a * b + c, rounded once.
HWY_INLINE lanes fma(lanes a, lanes b, lanes c) {
  TROUPE_EACH_REGISTER c.r[i] = reg_fma(a.r[i], b.r[i], c.r[i]);
  return c;
}
/// c - a * b, rounded once.
HWY_INLINE lanes fnma(lanes a, lanes b, lanes c) {
  TROUPE_EACH_REGISTER c.r[i] = reg_fnma(a.r[i], b.r[i], c.r[i]);
  return c;
}
HWY_INLINE lanes add(lanes a, lanes b) {
  TROUPE_EACH_REGISTER a.r[i] = reg_add(a.r[i], b.r[i]);
  return a;
}
HWY_INLINE lanes sub(lanes a, lanes b) {
  TROUPE_EACH_REGISTER a.r[i] = reg_sub(a.r[i], b.r[i]);
  return a;
}
HWY_INLINE lanes mul(lanes a, lanes b) {
  TROUPE_EACH_REGISTER a.r[i] = reg_mul(a.r[i], b.r[i]);
  return a;
}
HWY_INLINE lanes div(lanes a, lanes b) {
  TROUPE_EACH_REGISTER a.r[i] = reg_div(a.r[i], b.r[i]);
  return a;
}
HWY_INLINE lanes sqrt(lanes a) {
  TROUPE_EACH_REGISTER a.r[i] = reg_sqrt(a.r[i]);
  return a;
}
/// a > b ? a : b, so b if either is NaN.
HWY_INLINE lanes max(lanes a, lanes b) {
  TROUPE_EACH_REGISTER a.r[i] = reg_max(a.r[i], b.r[i]);
  return a;
}
HWY_INLINE lanes if_greater(lanes a, lanes b, lanes yes, lanes no) {
  TROUPE_EACH_REGISTER
  a.r[i] = reg_if_greater(a.r[i], b.r[i], yes.r[i], no.r[i]);
  return a;
}
/// 2^n for each lane of a = n + 1.5 * 2^23, n in [-126, 127].
HWY_INLINE lanes power(lanes a) {
  TROUPE_EACH_REGISTER a.r[i] = reg_power(a.r[i]);
  return a;
}
#undef TROUPE_EACH_REGISTER
// NOLINTEND(bugprone-macro-parentheses)

/// The sum of all lanes in the one order that the kernels use: lane j with
/// j + 8, then j + 4, then j + 2, then the last two.
HWY_INLINE float sum(lanes a) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t j = 0; j < half; ++j)
      a.r[j] = a.r[j] + a.r[j + half];
  return a.r[0];
#else
  using half_tag = hn::CappedTag<float, 8>;
  const hn::Full128<float> quarter;
#if HWY_TARGET == HWY_AVX3
  const half_tag half;
  const auto h =
    hn::Add(hn::LowerHalf(half, a.r[0]), hn::UpperHalf(half, a.r[0]));
  const auto q = hn::Add(hn::LowerHalf(quarter, h), hn::UpperHalf(quarter, h));
#elif HWY_TARGET == HWY_AVX2
  static_assert(num_registers == 2 && hn::MaxLanes(half_tag()) == 8);
  const auto h = hn::Add(a.r[0], a.r[1]);
  const auto q = hn::Add(hn::LowerHalf(quarter, h), hn::UpperHalf(quarter, h));
#else
  static_assert(num_registers == 4);
  const auto q = hn::Add(hn::Add(a.r[0], a.r[2]), hn::Add(a.r[1], a.r[3]));
#endif
  const auto pair = hn::Add(q, hn::Shuffle1032(q));
  return hn::GetLane(hn::Add(pair, hn::Shuffle2301(pair)));
#endif
}

#if HWY_TARGET == HWY_AVX3
/// What sum() has of a, b, c and d after two halvings, in a block of four each.
HWY_INLINE reg quarters(lanes a, lanes b, lanes c, lanes d) {
  const reg_tag tag;
  const reg ac = hn::Add(hn::ConcatUpperLower(tag, c.r[0], a.r[0]),
                         hn::ConcatLowerUpper(tag, c.r[0], a.r[0]));
  const reg bd = hn::Add(hn::ConcatUpperLower(tag, d.r[0], b.r[0]),
                         hn::ConcatLowerUpper(tag, d.r[0], b.r[0]));
  return hn::Add(hn::OddEvenBlocks(bd, ac),
                 hn::SwapAdjacentBlocks(hn::OddEvenBlocks(ac, bd)));
}

/// sum() of a, b, c and d, side by side.
HWY_INLINE hn::Vec<hn::Full128<float>> sum_each(lanes a, lanes b, lanes c,
                                                lanes d) {
  const reg blocks = quarters(a, b, c, d);
  const reg pairs = hn::Add(blocks, hn::Shuffle1032(blocks));
  const reg sums = hn::Add(pairs, hn::Shuffle2301(pairs));
  alignas(64) static constexpr std::int32_t firsts[16] = {0, 4, 8, 12};
  const reg packed =
    hn::TableLookupLanes(sums, hn::SetTableIndices(reg_tag(), firsts));
  return hn::LowerHalf(hn::LowerHalf(packed));
}
#endif

/// The largest lane.
HWY_INLINE float largest(lanes a) {
  float v[16];
  store(a, v);
  float y = v[0];
  for (int j = 1; j < 16; ++j)
    y = v[j] > y ? v[j] : y;
  return y;
}

/// e^x to about 1 ulp; 0 below -87.3 (no subnormals) and infinite above 88.37;
/// NaN stays NaN. x = n ln 2 + r, e^r by its Taylor series to r^7.
HWY_INLINE lanes exponential(lanes x) {
  const lanes shift = set(12582912.0F); // 1.5 * 2^23: adding it rounds
  const lanes t = fma(x, set(1.44269504088896341F), shift);
  const lanes n = sub(t, shift);
  lanes r = fnma(n, set(0x1.62e43p-1F), x); // ln 2 in two parts
  r = fnma(n, set(-0x1.05c61p-29F), r);
  lanes p = set(1.0F / 5040);
  p = fma(p, r, set(1.0F / 720));
  p = fma(p, r, set(1.0F / 120));
  p = fma(p, r, set(1.0F / 24));
  p = fma(p, r, set(1.0F / 6));
  p = fma(p, r, set(0.5F));
  p = fma(p, r, set(1));
  p = fma(p, r, set(1));
  lanes y = mul(p, power(t));
  y = if_greater(set(-87.3F), x, set(0), y);
  return if_greater(x, set(88.37F), set(std::numeric_limits<float>::infinity()),
                    y);
}

} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
