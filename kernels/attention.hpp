// SPDX-License-Identifier: Apache-2.0
//
// Causal attention with grouped query heads. One row of queries sees keys
// [first_key, num_keys) in rising order; its bits depend on nothing else, so
// packed training rows and cached decoding give the same result. Source:
// Vaswani et al., Attention Is All You Need, eq. 1; Ainslie et al., GQA;
// Beltagy et al., Longformer, section 3.1 (window); Gemma 2, section 2 (soft
// cap).
#pragma once

#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"

#include <cstdint>
#include <span>

namespace troupe::kernels {

struct attention_shape {
  std::int64_t num_heads = 0;    ///< H
  std::int64_t num_kv_heads = 0; ///< K, divides H
  std::int64_t head_width = 0;   ///< E
  float scale = 0;               ///< 1/sqrt(E) in the Llama family
  float softcap = 0;             ///< scores become c tanh(score / c); 0: none
};

/// What one row of queries attends to: rows [first_key, num_keys) of keys and
/// values, each [*, K * E] with the given stride.
struct attention_row {
  const float* keys = nullptr;
  const float* values = nullptr;
  std::int64_t num_keys = 0;
  std::int64_t stride = 0;    ///< elements between two rows of keys or values
  std::int64_t first_key = 0; ///< of a window that slides; < num_keys
};

/// Shapes: q [T, H * E], rows.size() == T -> out [T, H * E];
/// log_sum_exp [T, H] or null, for the gradient.
void attention(const_matrix q, std::span<const attention_row> rows,
               const attention_shape& shape, matrix out, float* log_sum_exp,
               thread_pool& pool);

/// Gradient over packed sequences: sequence s is rows
/// [offsets[s], offsets[s+1]) of q and [key_offsets[s], key_offsets[s+1]) of k
/// and v, as many or more. Its last query sees all of its keys, the query
/// before it all but the last, and so on; of those only the last `window`, if
/// that is not 0.
/// Shapes: q, out, dout, dq [T, H * E]; k, v, dk, dv [S, K * E] (overwritten);
/// log_sum_exp [T, H].
/// Numerics: fixed order, independent of the number of threads.
void attention_grad(const_matrix dout, const_matrix q, const_matrix k,
                    const_matrix v, const_matrix out, const float* log_sum_exp,
                    std::span<const std::int32_t> offsets,
                    std::span<const std::int32_t> key_offsets,
                    const attention_shape& shape, std::int64_t window,
                    matrix dq, matrix dk, matrix dv, thread_pool& pool);

} // namespace troupe::kernels
