// SPDX-License-Identifier: Apache-2.0
//
// The operations that modules are made of: kernels/ behind tensors. With
// gradients enabled each records itself for autograd, without it is the bare
// kernel call; the bits are the same.
// Gradients of weights are added to the leaf's grad() in place (made of zeros
// when absent): there is no second tensor of a weight's size. Weights are
// therefore leaves.
#pragma once

#include "kernels/activation.hpp"
#include "kernels/rotary.hpp"
#include "runtime/model/forward_context.hpp"

#include <torch/types.h>

#include <cstdint>
#include <memory>

namespace troupe::runtime::model {

/// Shapes: x [T, K], weight [N, K], bias [N] or undefined -> [T, N].
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight,
                     kernels::thread_pool& pool,
                     const torch::Tensor& bias = {});

/// Each D elements of a row are a norm's: several heads stand in one row.
/// Shapes: x [T, n * D], weight [D] -> [T, n * D]; scaled by offset + weight.
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight,
                       double eps, kernels::thread_pool& pool,
                       double offset = 0);

/// Shapes: x [T, D], weight, bias [D] -> [T, D].
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps,
                         kernels::thread_pool& pool);

/// f(x). Shapes: both [T, F].
torch::Tensor activate(const torch::Tensor& x, kernels::activation f,
                       kernels::thread_pool& pool);

/// f(gate) * up. Shapes: all [T, F].
torch::Tensor gated(const torch::Tensor& gate, const torch::Tensor& up,
                    kernels::activation f, kernels::thread_pool& pool);

/// Rows of a table, times `scale`. Shapes: ids [T] int32, weight [V, D] ->
/// [T, D]. Ids are in range.
torch::Tensor embedding(const torch::Tensor& ids, const torch::Tensor& weight,
                        double scale = 1);

/// The sum with a residual stream; without gradients written over `y`, which
/// the caller has just made. Shapes: all [T, D].
torch::Tensor add_residual(const torch::Tensor& x, torch::Tensor y);

struct attention_heads {
  std::int64_t num_heads = 0, num_kv_heads = 0, head_width = 0;
  std::int64_t layer_index = 0; ///< which layer of a cache
  std::shared_ptr<const kernels::rotary_table> rotary; ///< null: no rotation
  std::int64_t window = 0; ///< keys that a row sees, its own too; 0: all
  double scale = 0;        ///< of scores; 0: 1 / sqrt(head_width)
  double softcap = 0;      ///< of scaled scores; 0: none
};

/// Rotates q and k by the context's positions (in place: the caller has just
/// made them) and attends as the context says.
/// Shapes: q [T, H * E], k, v [T, K * E] -> [T, H * E].
torch::Tensor rotary_attention(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v,
                               const attention_heads& heads,
                               const forward_context& context);

} // namespace troupe::runtime::model
