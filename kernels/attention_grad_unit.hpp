// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/view.hpp"

#include <cstdint>

namespace troupe::kernels {

/// One sequence and one key/value head of attention_grad.
struct attention_grad_unit {
  const_matrix dout, q, k, v, out;
  const float* log_sum_exp = nullptr;
  std::int64_t begin = 0, end = 0;         ///< queries of the sequence
  std::int64_t key_begin = 0, key_end = 0; ///< its keys
  std::int64_t kv_head = 0;
  std::int64_t window = 0; ///< keys that a query sees at most; 0: all
  matrix dq, dk, dv;

  std::int64_t max_rows = 4; ///< of queries at once

  [[nodiscard]] std::int64_t num_keys() const { return key_end - key_begin; }
  /// Keys that query `row` of the sequence sees.
  [[nodiscard]] std::int64_t num_keys_of(std::int64_t row) const {
    return num_keys() - (end - 1 - row);
  }
  /// The first of them, if there is a window.
  [[nodiscard]] std::int64_t first_key_of(std::int64_t row) const {
    const std::int64_t before = num_keys_of(row) - window;
    return window > 0 && before > 0 ? before : 0;
  }

  // Scratch: a few rows by the heads of the group, by keys or by E.
  float* p = nullptr;
  float* dp = nullptr;
  std::int64_t p_stride = 0;
  float* q_rows = nullptr;
  float* dout_rows = nullptr;
  float* dq_rows = nullptr;
};

} // namespace troupe::kernels
