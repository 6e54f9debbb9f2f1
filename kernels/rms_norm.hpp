// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"

namespace troupe::kernels {

/// y = x / sqrt(mean(x^2) + eps) * weight, row by row.
/// Shapes: x [T, D], weight [D] -> y [T, D]; inv_rms [T] or null receives
/// 1 / sqrt(...), which the gradient needs.
/// Source: Zhang and Sennrich, Root Mean Square Layer Normalization, eq. 4.
void rms_norm(const_matrix x, const float* weight, float eps, matrix y,
              float* inv_rms, thread_pool& pool);

/// dx = gradient of the above (overwritten), dweight += its gradient.
/// Numerics: rows are summed into dweight in rising order.
void rms_norm_grad(const_matrix dy, const_matrix x, const float* weight,
                   const float* inv_rms, matrix dx, float* dweight,
                   thread_pool& pool);

} // namespace troupe::kernels
