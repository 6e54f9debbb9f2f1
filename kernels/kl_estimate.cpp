// SPDX-License-Identifier: Apache-2.0
#include "kernels/kl_estimate.hpp"

#include "kernels/scalar_math.hpp"

namespace troupe::kernels {

kl_value kl_estimate(kl_estimator estimator, double logprob,
                     double reference_logprob) {
  const double gap = reference_logprob - logprob;
  switch (estimator) {
  case kl_estimator::k1: return {-gap, 1};
  case kl_estimator::k2: return {gap * gap / 2, -gap};
  case kl_estimator::k3: break;
  }
  return {exp_minus_line(gap), 1 - exp_of(gap)};
}

} // namespace troupe::kernels
