// SPDX-License-Identifier: Apache-2.0
//
// Merges the symbols of one word until no merge is left: always the one that
// comes first in the file, of equals the leftmost.
#pragma once

#include "runtime/tokenizer/merge_table.hpp"

#include <cstdint>
#include <vector>

namespace troupe::runtime::tokenizer {

/// A token of a word, and how many of the word's bytes it takes.
struct token_piece {
  std::int32_t id;
  std::uint32_t length;
};

/// Appends the merged `symbols`, which it uses up. Time: n log n for a word of
/// n symbols, however long.
void merge_symbols(const merge_table& merges, std::vector<token_piece>& symbols,
                   std::vector<token_piece>& out);

} // namespace troupe::runtime::tokenizer
