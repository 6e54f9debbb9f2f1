// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"

namespace troupe::kernels {

/// What the gradient of a row's norm needs.
struct row_moments {
  float mean = 0;
  float inv_deviation = 0; ///< 1 / sqrt(variance + eps)
};

/// y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias, row by row.
/// Shapes: x [T, D], weight, bias [D] -> y [T, D]; moments [T] or null.
/// Numerics: the variance, of the population, is summed from differences to the
/// mean.
/// Source: Ba et al., Layer Normalization, eq. 4.
void layer_norm(const_matrix x, const float* weight, const float* bias,
                float eps, matrix y, row_moments* moments, thread_pool& pool);

/// dx = gradient of the above (overwritten), dweight and dbias += theirs.
/// Numerics: rows are summed into dweight and dbias in rising order.
void layer_norm_grad(const_matrix dy, const_matrix x, const float* weight,
                     const row_moments* moments, matrix dx, float* dweight,
                     float* dbias, thread_pool& pool);

} // namespace troupe::kernels
