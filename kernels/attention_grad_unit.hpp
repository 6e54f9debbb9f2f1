// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/view.hpp"

#include <cstdint>

namespace troupe::kernels {

/// One sequence and one key/value head of attention_grad.
struct attention_grad_unit {
  const_matrix dout, q, k, v, out;
  const float* log_sum_exp = nullptr;
  std::int64_t begin = 0, end = 0; ///< rows of the sequence
  std::int64_t kv_head = 0;
  matrix dq, dk, dv;

  std::int64_t max_rows = 4; ///< of queries at once

  // Scratch: a few rows by the heads of the group, by keys or by E.
  float* p = nullptr;
  float* dp = nullptr;
  std::int64_t p_stride = 0;
  float* q_rows = nullptr;
  float* dout_rows = nullptr;
  float* dq_rows = nullptr;
};

} // namespace troupe::kernels
