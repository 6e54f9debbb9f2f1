// SPDX-License-Identifier: Apache-2.0
//
// Suggestions for misspelt keys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::config {

/// Returns the fewest insertions, deletions, replacements and swaps of
/// neighbours that make `a` into `b`, none of them touching a swapped pair.
/// Source: Boytsov 2011, optimal string alignment.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidate with the smallest distance, the first among equals;
/// candidates must not be empty.
std::string nearest(std::string_view word,
                    const std::vector<std::string>& candidates);

} // namespace troupe::runtime::config
