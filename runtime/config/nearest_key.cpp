// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/nearest_key.hpp"

#include <algorithm>

namespace troupe::runtime::config {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table: two before, one before, and the current one.
  std::vector<std::size_t> older(b.size() + 1), old(b.size() + 1),
    row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(older, old);
    std::swap(old, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({old[j] + 1, row[j - 1] + 1, old[j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], older[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view word,
                    const std::vector<std::string>& candidates) {
  return *std::ranges::min_element(candidates, {},
                                   [word](const std::string& candidate) {
                                     return edit_distance(word, candidate);
                                   });
}

} // namespace troupe::runtime::config
