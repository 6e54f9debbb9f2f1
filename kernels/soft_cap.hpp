// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"

namespace troupe::kernels {

/// In place: x becomes cap * tanh(x / cap).
/// Source: Gemma Team, Gemma 2, section 2, logit soft-capping.
void soft_cap(matrix x, float cap, thread_pool& pool);

/// In place: dx, the gradient of the capped values y, becomes that of what they
/// were made of: dx (1 - (y / cap)^2). Shapes: both [T, N].
void soft_cap_grad(const_matrix y, float cap, matrix dx, thread_pool& pool);

} // namespace troupe::kernels
