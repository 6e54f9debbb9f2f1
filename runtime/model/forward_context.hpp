// SPDX-License-Identifier: Apache-2.0
//
// What a forward pass over T rows needs besides the rows: threads, positions,
// and where attention finds keys and values. A row is one token; rows of
// several sequences stand below each other, there is no padding.
#pragma once

#include "kernels/thread_pool.hpp"

#include <cstdint>
#include <span>
#include <variant>

namespace troupe::runtime::model {

struct row_range {
  std::int32_t begin = 0, end = 0;
};

/// Sequences without a cache: sequence s is rows [offsets[s], offsets[s + 1]).
/// Each row sees the prefix of its sequence, which is rows of an earlier one
/// (a prompt that several completions share), and then its sequence up to
/// itself. For training, scoring and tests.
/// Shapes: offsets [B + 1], rising from 0 to T; prefixes [B], or empty if no
/// sequence has one.
struct packed_sequences {
  std::span<const std::int32_t> offsets;
  std::span<const row_range> prefixes = {};
};

/// One layer's part of a cache: [slots, positions, K * E], by base pointers.
/// The memory is somebody else's (the cache owner's).
struct layer_cache {
  float* keys = nullptr;
  float* values = nullptr;
};

/// Rows that belong to slots of a cache: row t writes its key and value at
/// [slots[t]][positions[t]] and then sees keys [0, positions[t]] of that slot.
/// Rows of one slot may come together (chunked prefill), rising by position;
/// all are written before any is read. No gradients.
/// Layout: of layer l, slot s and position p:
/// layers[l].keys + s * slot_stride + p * row_stride.
struct cached_rows {
  std::span<const std::int32_t> slots; ///< [T]
  std::span<const layer_cache> layers; ///< [num_layers]
  std::int64_t slot_stride = 0;        ///< elements between two slots
  std::int64_t row_stride = 0; ///< elements between two positions; >= K * E
};

/// Borrowed for one call; with gradients enabled, `pool` lives until backward
/// has run, the spans are copied.
struct forward_context {
  kernels::thread_pool& pool;
  std::span<const std::int32_t> positions; ///< [T], each < max_positions
  std::variant<packed_sequences, cached_rows> attention;
};

} // namespace troupe::runtime::model
