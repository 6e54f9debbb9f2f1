// SPDX-License-Identifier: Apache-2.0
#include "runtime/rollout/kv_cache.hpp"

#include <cstring>

namespace troupe::runtime::rollout {

std::size_t kv_cache_layout::num_bytes() const {
  return static_cast<std::size_t>(num_layers * 2 * num_slots
                                  * slot_capacity_tokens * row_width)
         * sizeof(float);
}

void kv_cache_view::copy_prefix(std::int64_t from_slot, std::int64_t to_slot,
                                std::int64_t num_positions) const {
  const auto bytes =
    static_cast<std::size_t>(num_positions * layout.row_width) * sizeof(float);
  for (std::int64_t plane = 0; plane < 2 * layout.num_layers; ++plane)
    std::memcpy(row(plane, to_slot, 0), row(plane, from_slot, 0), bytes);
}

} // namespace troupe::runtime::rollout
