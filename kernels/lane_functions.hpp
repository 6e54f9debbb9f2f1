// SPDX-License-Identifier: Apache-2.0
//
// Functions of sixteen floats beyond lanes.hpp, with the same bits on each
// instruction set. Compiled once for each.
#if defined(TROUPE_KERNELS_LANE_FUNCTIONS) == defined(HWY_TARGET_TOGGLE)
#ifdef TROUPE_KERNELS_LANE_FUNCTIONS
#undef TROUPE_KERNELS_LANE_FUNCTIONS
#else
#define TROUPE_KERNELS_LANE_FUNCTIONS
#endif

#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {

HWY_INLINE lanes negative(lanes x) {
  return sub(set(0), x);
}
HWY_INLINE lanes magnitude(lanes x) {
  return max(x, negative(x));
}
/// `a` with the sign of x.
HWY_INLINE lanes signed_as(lanes a, lanes x) {
  return if_greater(set(0), x, negative(a), a);
}

/// tanh x to about 2 ulp. Source: Moshier, Cephes, single/tanhf.c.
HWY_INLINE lanes hyperbolic_tangent(lanes x) {
  const lanes one = set(1);
  const lanes a = magnitude(x);
  const lanes square = mul(x, x);
  lanes p = set(-5.70498872745e-3F);
  p = fma(p, square, set(2.06390887954e-2F));
  p = fma(p, square, set(-5.37397155531e-2F));
  p = fma(p, square, set(1.33314422036e-1F));
  p = fma(p, square, set(-3.33332819422e-1F));
  const lanes low = fma(mul(p, square), x, x);
  const lanes high = sub(one, div(set(2), add(exponential(add(a, a)), one)));
  return if_greater(set(0.625F), a, low, signed_as(high, x));
}

/// erf x to about 2e-7. Source: Abramowitz and Stegun, Handbook of Mathematical
/// Functions, 7.1.26.
HWY_INLINE lanes error_function(lanes x) {
  const lanes one = set(1);
  const lanes a = magnitude(x);
  const lanes t = div(one, fma(a, set(0.3275911F), one));
  lanes p = set(1.061405429F);
  p = fma(p, t, set(-1.453152027F));
  p = fma(p, t, set(1.421413741F));
  p = fma(p, t, set(-0.284496736F));
  p = fma(p, t, set(0.254829592F));
  const lanes y = fnma(mul(p, t), exponential(negative(mul(a, a))), one);
  return signed_as(y, x);
}

} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
