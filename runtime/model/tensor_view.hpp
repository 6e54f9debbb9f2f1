// SPDX-License-Identifier: Apache-2.0
//
// From tensors to the plain views that kernels/ take.
#pragma once

#include "kernels/view.hpp"

#include <torch/types.h>

#include <cstdint>

namespace troupe::runtime::model {

/// A view of a contiguous float32 tensor [rows, cols].
inline kernels::matrix as_matrix(const torch::Tensor& tensor) {
  return {tensor.mutable_data_ptr<float>(), tensor.size(0), tensor.size(1)};
}

inline kernels::const_matrix as_const_matrix(const torch::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), tensor.size(0), tensor.size(1)};
}

/// Uninitialised float32 [rows, cols], without the dispatcher.
torch::Tensor empty_matrix(std::int64_t rows, std::int64_t cols);

} // namespace troupe::runtime::model
