// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace troupe::kernels {

/// The memory in which a gradient of linear packs its factors, one block at a
/// time; the same for all instruction sets.
struct gradient_scratch {
  static constexpr std::int64_t max_cols = 384; ///< of the result, at once
  static constexpr std::int64_t max_rows = 240; ///< packed at once; 8 and 6 fit
  static constexpr std::int64_t max_steps = 512;
  static constexpr std::int64_t max_panels = 128 * 1024; ///< floats: 512 KiB

  /// `cols` in whole panels; 48 is the widest.
  static std::int64_t padded(std::int64_t cols) {
    return (cols + 47) / 48 * 48;
  }
  /// Steps of the sum that one block takes.
  static std::int64_t steps(std::int64_t cols) {
    return std::min(max_panels / padded(cols), max_steps);
  }
  static constexpr std::int64_t floats = max_panels + max_steps * max_rows;
};

} // namespace troupe::kernels
