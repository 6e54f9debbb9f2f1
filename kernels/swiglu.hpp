// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"

namespace troupe::kernels {

/// y = silu(gate) * up. Shapes: all [T, F].
/// Source: Shazeer, GLU Variants Improve Transformer, eq. 6.
void swiglu(const_matrix gate, const_matrix up, matrix y, thread_pool& pool);

/// dgate, dup: gradients of the above (overwritten).
void swiglu_grad(const_matrix dy, const_matrix gate, const_matrix up,
                 matrix dgate, matrix dup, thread_pool& pool);

} // namespace troupe::kernels
