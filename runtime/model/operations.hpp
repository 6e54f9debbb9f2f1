// SPDX-License-Identifier: Apache-2.0
//
// The operations that modules are made of: kernels/ behind tensors. With
// gradients enabled each records itself for autograd, without it is the bare
// kernel call; the bits are the same.
// Gradients of weights are added to the leaf's grad() in place (made of zeros
// when absent): there is no second tensor of a weight's size. Weights are
// therefore leaves.
#pragma once

#include "kernels/rotary.hpp"
#include "runtime/model/forward_context.hpp"

#include <torch/types.h>

#include <cstdint>
#include <memory>

namespace troupe::runtime::model {

/// Shapes: x [T, K], weight [N, K] -> [T, N].
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight,
                     kernels::thread_pool& pool);

/// Shapes: x [T, D], weight [D] -> [T, D].
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight,
                       double eps, kernels::thread_pool& pool);

/// silu(gate) * up. Shapes: all [T, F].
torch::Tensor swiglu(const torch::Tensor& gate, const torch::Tensor& up,
                     kernels::thread_pool& pool);

/// Rows of a table. Shapes: ids [T] int32, weight [V, D] -> [T, D].
/// Ids are in range.
torch::Tensor embedding(const torch::Tensor& ids, const torch::Tensor& weight);

/// The sum with a residual stream; without gradients written over `y`, which
/// the caller has just made. Shapes: all [T, D].
torch::Tensor add_residual(const torch::Tensor& x, torch::Tensor y);

struct attention_heads {
  std::int64_t num_heads = 0, num_kv_heads = 0, head_width = 0;
  std::int64_t layer_index = 0; ///< which layer of a cache
  std::shared_ptr<const kernels::rotary_table> rotary;
};

/// Rotates q and k by the context's positions (in place: the caller has just
/// made them) and attends as the context says.
/// Shapes: q [T, H * E], k, v [T, K * E] -> [T, H * E].
torch::Tensor rotary_attention(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v,
                               const attention_heads& heads,
                               const forward_context& context);

} // namespace troupe::runtime::model
