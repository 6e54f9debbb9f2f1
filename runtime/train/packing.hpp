// SPDX-License-Identifier: Apache-2.0
//
// Sequences below each other in one forward pass, without padding and without
// seeing each other. A prompt whose completions follow each other is computed
// once.
#pragma once

#include "runtime/model/forward_context.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::runtime::train {

/// One trainable sequence: a prompt and the completion whose tokens count.
struct sequence {
  std::span<const std::int32_t> prompt_ids;
  std::span<const std::int32_t> completion_ids;
};

/// A microbatch. Shapes: ids, positions [T]; offsets [B + 1]; prefixes [B];
/// rows, targets [completion tokens], sequence after sequence.
struct packed_rows {
  std::vector<std::int32_t> ids, positions, offsets, rows, targets;
  std::vector<model::row_range> prefixes;
  std::size_t first_token = 0; ///< of `rows` among those of all microbatches
};

/// Packs sequences in order, at most `max_rows` rows each (a longer sequence
/// stands alone). A sequence whose prompt is that of the one before it takes
/// the prompt's rows from there, if both are in one microbatch; the last token
/// of a sequence predicts nothing and has no row.
/// Every sequence has a prompt token and a completion token.
/// Errors: invalid_request otherwise.
std::vector<packed_rows> pack(std::span<const sequence> sequences,
                              std::int64_t max_rows);

} // namespace troupe::runtime::train
