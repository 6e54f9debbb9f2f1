// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace troupe::kernels {

/// The memory in which a gradient of linear packs its factors, for a block of
/// `cols` columns; the same for all instruction sets.
struct gradient_scratch {
  static constexpr std::int64_t max_packed_rows = 240; ///< divides by 8 and 6

  /// `cols` in whole panels; 48 is the widest.
  static std::int64_t padded(std::int64_t cols) {
    return (cols + 47) / 48 * 48;
  }

  /// Steps of the sum whose part of b fits into 512 KiB.
  static std::int64_t steps(std::int64_t cols) {
    return std::clamp<std::int64_t>(128 * 1024 / padded(cols), 16, 512);
  }

  static std::int64_t floats(std::int64_t cols) {
    return steps(cols) * (padded(cols) + max_packed_rows + 8);
  }
};

} // namespace troupe::kernels
