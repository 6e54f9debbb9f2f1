// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"

#include <cstdint>

namespace troupe::kernels {

/// The functions of feed-forward parts, by the names of config.json.
/// Source: Hendrycks and Gimpel, Gaussian Error Linear Units, section 2: gelu
/// is x Phi(x), gelu_tanh its approximation by a tangent; silu is x sigmoid(x).
enum class activation : std::uint8_t { silu, gelu, gelu_tanh, relu };

/// y = f(x). Shapes: both [T, F].
void activate(const_matrix x, activation f, matrix y, thread_pool& pool);

/// dx: gradient of the above (overwritten).
void activate_grad(const_matrix dy, const_matrix x, activation f, matrix dx,
                   thread_pool& pool);

/// y = f(gate) * up. Shapes: all [T, F].
/// Source: Shazeer, GLU Variants Improve Transformer, eq. 6.
void gated(const_matrix gate, const_matrix up, activation f, matrix y,
           thread_pool& pool);

/// dgate, dup: gradients of the above (overwritten).
void gated_grad(const_matrix dy, const_matrix gate, const_matrix up,
                activation f, matrix dgate, matrix dup, thread_pool& pool);

} // namespace troupe::kernels
