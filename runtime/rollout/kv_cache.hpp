// SPDX-License-Identifier: Apache-2.0
//
// The KV cache of one rank: where the keys and values of a slot's positions
// stand in a buffer that the cache owner holds. Plain memory, no ownership.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::runtime::rollout {

/// Layout: [num_layers][keys, values][num_slots][slot_capacity_tokens]
/// [row_width] of fp32, row_width = K * E. A row holds one position of one
/// slot; rows at and past a slot's cached length hold anything.
struct kv_cache_layout {
  std::int64_t num_layers = 0;
  std::int64_t num_slots = 0;
  std::int64_t slot_capacity_tokens = 0;
  std::int64_t row_width = 0;

  bool operator==(const kv_cache_layout&) const = default;

  [[nodiscard]] std::size_t num_bytes() const;
};

/// A buffer of layout.num_bytes() in that layout.
struct kv_cache_view {
  float* base = nullptr;
  kv_cache_layout layout;

  /// Returns row `position` of a slot; the following ones are row_width apart.
  [[nodiscard]] float* keys(std::int64_t layer, std::int64_t slot,
                            std::int64_t position = 0) const {
    return row(2 * layer, slot, position);
  }
  [[nodiscard]] float* values(std::int64_t layer, std::int64_t slot,
                              std::int64_t position = 0) const {
    return row(2 * layer + 1, slot, position);
  }

  /// Copies positions [0, num_positions) of all layers from one slot to
  /// another.
  void copy_prefix(std::int64_t from_slot, std::int64_t to_slot,
                   std::int64_t num_positions) const;

private:
  [[nodiscard]] float* row(std::int64_t plane, std::int64_t slot,
                           std::int64_t position) const {
    return base
           + ((plane * layout.num_slots + slot) * layout.slot_capacity_tokens
              + position)
               * layout.row_width;
  }
};

} // namespace troupe::runtime::rollout
