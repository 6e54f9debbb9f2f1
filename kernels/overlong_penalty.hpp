// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace troupe::kernels {

/// Returns what is added to the reward of a completion of `length` tokens: 0 up
/// to max_length - margin, -1 from max_length on, a line between.
/// Source: Yu et al., DAPO, equation 13, with margin for L_cache. All in
/// tokens; margin above 0.
inline double overlong_penalty(std::int64_t length, std::int64_t max_length,
                               std::int64_t margin) {
  const auto over = static_cast<double>(length - (max_length - margin));
  return -std::clamp(over / static_cast<double>(margin), 0.0, 1.0);
}

} // namespace troupe::kernels
