// SPDX-License-Identifier: Apache-2.0
//
// exp and log for the few places that need them in double. The C library's
// differ in their last bit from one CPU to another; these do not.
#pragma once

namespace troupe::kernels {

/// e^x to about 1 ulp. NaN stays NaN; 0 below -708, infinite above 709.
double exp_of(double x);

/// e^x - 1 - x without cancellation.
double exp_minus_line(double x);

/// Natural logarithm to about 1 ulp; -infinity for 0, NaN below 0 and for NaN.
double log_of(double x);

} // namespace troupe::kernels
