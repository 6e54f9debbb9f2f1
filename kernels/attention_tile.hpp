// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.hpp"

#include <cstdint>

namespace troupe::kernels {

/// Rows that share keys, the last with the most, for one key/value head. Row
/// r of the tile with head h of the group is row r * group + h of q, scores
/// and out; all memory is scratch.
struct attention_tile {
  const attention_row* rows = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t kv_head = 0;
  float* q = nullptr;      ///< [num_rows * group, E]
  float* scores = nullptr; ///< [num_rows * group, scores_stride]
  std::int64_t scores_stride = 0;
  float* out = nullptr;    ///< [num_rows * group, E]
  float* sums = nullptr;   ///< [num_rows * group]
  float* maxima = nullptr; ///< [num_rows * group]
};

} // namespace troupe::kernels
