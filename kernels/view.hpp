// SPDX-License-Identifier: Apache-2.0
//
// Plain views of fp32 memory: what kernels/ takes instead of tensors.
#pragma once

#include <cstdint>

namespace troupe::kernels {

/// A row-major matrix. Rows are contiguous; row r starts at data + r * stride.
template <class T>
struct matrix_view {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0; ///< elements between the starts of two rows

  matrix_view() = default;
  matrix_view(T* d, std::int64_t r, std::int64_t c)
    : data(d), rows(r), cols(c), stride(c) {}
  matrix_view(T* d, std::int64_t r, std::int64_t c, std::int64_t s)
    : data(d), rows(r), cols(c), stride(s) {}

  [[nodiscard]] T* row(std::int64_t r) const { return data + r * stride; }

  /// A view that writes can be read.
  // NOLINTNEXTLINE(google-explicit-constructor): as T* to const T* is
  operator matrix_view<const T>() const { return {data, rows, cols, stride}; }
};

using matrix = matrix_view<float>;
using const_matrix = matrix_view<const float>;

} // namespace troupe::kernels
