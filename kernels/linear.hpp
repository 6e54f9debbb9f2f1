// SPDX-License-Identifier: Apache-2.0
//
// Matrix products with one order of summation each, which is part of their
// definition (DESIGN section 9a): a row of the result has the same bits
// whatever the number of rows, of threads, and the CPU.
#pragma once

#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"

namespace troupe::kernels {

/// y = x w^T (+ bias).
/// Shapes: x [T, K], w [N, K], bias [N] or null -> y [T, N].
/// Numerics: 16 partial sums over k mod 16, fused multiply-add in rising k,
/// added in one fixed tree, then the bias.
void linear(const_matrix x, const_matrix w, const float* bias, matrix y,
            thread_pool& pool);

/// dx (+)= dy w. Shapes: dy [T, N], w [N, K] -> dx [T, K].
/// Numerics: n rises, fused multiply-add, beginning with 0 or the present dx.
enum class into { overwrite, add };
void linear_grad_input(const_matrix dy, const_matrix w, matrix dx, into mode,
                       thread_pool& pool);

/// dw += dy^T x. Shapes: dy [T, N], x [T, K] -> dw [N, K].
/// Numerics: t rises, fused multiply-add, beginning with the present dw: so it
/// does not matter how a batch is cut into calls.
void linear_grad_weight(const_matrix dy, const_matrix x, matrix dw,
                        thread_pool& pool);

/// dbias += the sum of dy's rows. Shapes: dy [T, N], dbias [N].
/// Numerics: t rises, beginning with the present dbias.
void linear_grad_bias(const_matrix dy, float* dbias, thread_pool& pool);

} // namespace troupe::kernels
