// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::kernels {

/// cos and sin of position * frequency, for half of the elements of a head that
/// are rotated: [positions, R/2] each.
/// Source: Su et al., RoFormer, eq. 15; the two halves of a head are rotated
/// against each other, as Llama checkpoints in Hugging Face layout expect.
struct rotary_table {
  std::int64_t half_width = 0; ///< R/2
  std::vector<float> cos, sin;
};

/// Appends the row of the next position: `factor` times cos and sin.
/// Numerics: angles in double, rounded once.
void append_position(rotary_table& table, std::span<const double> frequencies,
                     double factor = 1);

/// The frequencies theta^(-2i/R).
std::vector<double> rotary_frequencies(std::int64_t width, double theta);

rotary_table make_rotary_table(std::int64_t num_positions, std::int64_t width,
                               double theta);

enum class rotation { forward, inverse }; ///< inverse: the gradient

/// Rotates the first R elements of each head of each row in place, R <= E.
/// Shapes: x [T, heads * E], positions [T], each in [0, table rows).
void apply_rotary(matrix x, std::int64_t num_heads,
                  const std::int32_t* positions, const rotary_table& table,
                  rotation direction, thread_pool& pool);

} // namespace troupe::kernels
