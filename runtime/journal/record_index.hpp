// SPDX-License-Identifier: Apache-2.0
//
// Finding records by their references.
#pragma once

#include "runtime/journal/reader.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::runtime::journal {

struct record_id {
  std::string process;
  std::uint64_t incarnation = 1, seq = 0;
};

/// Reads "process/seq" or "process:incarnation/seq"; nothing for another text.
std::optional<record_id> parse_reference(std::string_view text);

/// Returns the first number that a record speaks for: its own, but for a gap.
std::uint64_t first_told(const entry& r);

/// True for the last record of a writer that was closed.
bool is_terminal_record(const entry& r);

/// Pointers into journals that outlive it.
class record_index {
public:
  explicit record_index(const std::vector<process_journal>& journals);

  [[nodiscard]] const entry* find(const record_id& id) const;

  enum class presence : std::uint8_t {
    present,
    unknown, ///< dropped, rotated away, or never written by one who was killed
    absent
  };
  [[nodiscard]] presence find_presence(const record_id& id) const;

  /// Returns the last record, by time, of a subject; nullptr for none.
  [[nodiscard]] const entry* find_last(std::string_view subject) const;

private:
  struct incarnation {
    std::vector<const entry*> records; ///< in the order of their numbers
    bool is_complete = true;           ///< begins at 1, without gaps
    bool is_closed = false;
  };
  std::map<std::pair<std::string, std::uint64_t>, incarnation> incarnations_;
};

} // namespace troupe::runtime::journal
