// SPDX-License-Identifier: Apache-2.0
//
// Tables for terminals, and the way ages and times are written in them.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::inspect {

/// Rows of cells, printed with two spaces between the columns. A column whose
/// title begins with '>' is aligned to the right.
class text_table {
public:
  explicit text_table(std::vector<std::string> titles);

  /// One cell per title.
  void add(std::vector<std::string> cells);
  void print(std::ostream& out, std::string_view indent = "") const;

private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> is_right_;
};

/// Returns "0.3s", "41.0s", "12m04s", "3h07m" or "2d05h".
std::string age_text(std::chrono::nanoseconds age);

/// Returns the local time of day with milliseconds: "14:03:07.214".
std::string time_text(std::int64_t realtime_ns);

/// Returns the text in one line: control characters as spaces.
std::string one_line(std::string_view text);

} // namespace troupe::runtime::inspect
