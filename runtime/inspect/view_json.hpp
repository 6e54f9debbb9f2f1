// SPDX-License-Identifier: Apache-2.0
//
// The JSON of `troupe inspect --json`. Every document says when it was made
// (`as_of`), whether it is `complete`, and what is `missing`. Ages are in
// seconds.
#pragma once

#include "runtime/inspect/card_reader.hpp"
#include "runtime/journal/entry.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe::runtime::inspect {

/// A document, kept apart from its library so that few files pay for that.
class json_view {
public:
  json_view(std::string text, bool is_empty)
    : text_(std::move(text)), is_empty_(is_empty) {}
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Nothing could be read at all.
  [[nodiscard]] bool is_empty() const noexcept { return is_empty_; }

private:
  std::string text_;
  bool is_empty_;
};

/// {"processes": [...]}, each with its "actors" in full.
json_view actors_json(const std::vector<process_view>& processes);

/// {"processes": [...]}, each with its root actors, whose "children" nest.
json_view tree_json(const std::vector<process_view>& processes);

/// {"processes": [...]} without actors, but with the "last_record".
json_view
processes_json(const std::vector<process_view>& processes,
               const std::map<std::string, journal::entry>& last_records);

/// {"records": [...]}: the journal's lines as they are.
json_view journal_json(const std::vector<journal::entry>& records,
                       const std::vector<std::string>& missing);

} // namespace troupe::runtime::inspect
