// SPDX-License-Identifier: Apache-2.0
//
// One register of floats with the same operations, and the same bits, on each
// instruction set; the portable one is a float. std::fma, because Highway's own
// emulation rounds twice. Compiled once for each instruction set.
#if defined(TROUPE_KERNELS_REGISTERS) == defined(HWY_TARGET_TOGGLE)
#ifdef TROUPE_KERNELS_REGISTERS
#undef TROUPE_KERNELS_REGISTERS
#else
#define TROUPE_KERNELS_REGISTERS
#endif

#include "hwy/highway.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

constexpr std::size_t num_registers = 16;
using reg = float;

HWY_INLINE reg reg_set(float a) {
  return a;
}
HWY_INLINE reg reg_load(const float* p) {
  return *p;
}
HWY_INLINE void reg_store(reg a, float* p) {
  *p = a;
}
HWY_INLINE reg reg_load_n(const float* p, std::size_t n, float fill) {
  return n > 0 ? *p : fill;
}
HWY_INLINE void reg_store_n(reg a, float* p, std::size_t n) {
  if (n > 0)
    *p = a;
}
HWY_INLINE reg reg_fma(reg a, reg b, reg c) {
  return std::fma(a, b, c);
}
HWY_INLINE reg reg_fnma(reg a, reg b, reg c) {
  return std::fma(-a, b, c);
}
HWY_INLINE reg reg_add(reg a, reg b) {
  return a + b;
}
HWY_INLINE reg reg_sub(reg a, reg b) {
  return a - b;
}
HWY_INLINE reg reg_mul(reg a, reg b) {
  return a * b;
}
HWY_INLINE reg reg_div(reg a, reg b) {
  return a / b;
}
HWY_INLINE reg reg_sqrt(reg a) {
  return std::sqrt(a);
}
HWY_INLINE reg reg_max(reg a, reg b) {
  return a > b ? a : b;
}
HWY_INLINE reg reg_if_greater(reg a, reg b, reg yes, reg no) {
  return a > b ? yes : no;
}
/// 2^n, where the low bits of a hold n: see exponential().
HWY_INLINE reg reg_power(reg a) {
  const auto bits = std::bit_cast<std::uint32_t>(a);
  return std::bit_cast<float>((bits << 23) + 0x3f800000U);
}

#else

namespace hn = hwy::HWY_NAMESPACE;
using reg_tag = hn::CappedTag<float, 16>;
using int_tag = hn::RebindToSigned<reg_tag>;
using reg = hn::Vec<reg_tag>;
constexpr std::size_t reg_width = hn::MaxLanes(reg_tag());
constexpr std::size_t num_registers = 16 / reg_width;

HWY_INLINE reg reg_set(float a) {
  return hn::Set(reg_tag(), a);
}
HWY_INLINE reg reg_load(const float* p) {
  return hn::LoadU(reg_tag(), p);
}
HWY_INLINE void reg_store(reg a, float* p) {
  hn::StoreU(a, reg_tag(), p);
}
HWY_INLINE reg reg_load_n(const float* p, std::size_t n, float fill) {
  const auto mask = hn::FirstN(reg_tag(), n);
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, reg_tag(), p),
                        reg_set(fill));
}
HWY_INLINE void reg_store_n(reg a, float* p, std::size_t n) {
  hn::BlendedStore(a, hn::FirstN(reg_tag(), n), reg_tag(), p);
}
HWY_INLINE reg reg_fma(reg a, reg b, reg c) {
  return hn::MulAdd(a, b, c);
}
HWY_INLINE reg reg_fnma(reg a, reg b, reg c) {
  return hn::NegMulAdd(a, b, c);
}
HWY_INLINE reg reg_add(reg a, reg b) {
  return hn::Add(a, b);
}
HWY_INLINE reg reg_sub(reg a, reg b) {
  return hn::Sub(a, b);
}
HWY_INLINE reg reg_mul(reg a, reg b) {
  return hn::Mul(a, b);
}
HWY_INLINE reg reg_div(reg a, reg b) {
  return hn::Div(a, b);
}
HWY_INLINE reg reg_sqrt(reg a) {
  return hn::Sqrt(a);
}
HWY_INLINE reg reg_if_greater(reg a, reg b, reg yes, reg no) {
  return hn::IfThenElse(hn::Gt(a, b), yes, no);
}
HWY_INLINE reg reg_max(reg a, reg b) {
#if HWY_ARCH_X86
  return hn::Max(a, b); // a > b ? a : b, for NaN and zeros, too
#else
  return reg_if_greater(a, b, a, b);
#endif
}
HWY_INLINE reg reg_power(reg a) {
  const auto bits = hn::BitCast(int_tag(), a);
  return hn::BitCast(reg_tag(), hn::Add(hn::ShiftLeft<23>(bits),
                                        hn::Set(int_tag(), 0x3f800000)));
}

#endif

/// Floats in one register.
constexpr std::size_t lanes_per_register = 16 / num_registers;

} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
