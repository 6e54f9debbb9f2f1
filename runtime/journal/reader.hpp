// SPDX-License-Identifier: Apache-2.0
//
// Reading the journals of a run directory, live or ended.
#pragma once

#include "runtime/journal/entry.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::runtime::journal {

/// A line that is no record.
struct bad_line {
  std::filesystem::path file;
  std::size_t line = 0; ///< from 1
  std::string reason;
};

/// The journal of one process, all its incarnations and files.
struct process_journal {
  std::string process;
  std::vector<entry> records; ///< in file order
  /// Not records, and not torn ends: a last line without its end, or one that
  /// a new incarnation closed, is left out.
  std::vector<bad_line> bad_lines;
  std::size_t torn_lines = 0;
  /// The oldest file is not the first one any more.
  bool starts_late = false;
};

/// Returns the journals in `dir`, a run directory or a folder of .jsonl files,
/// by process. An absent folder is an empty list.
std::vector<process_journal> read_journals(const std::filesystem::path& dir);

/// Returns all records by time: the monotonic clock within a boot, and the
/// order of the file within a process.
std::vector<entry> merge_by_time(const std::vector<process_journal>& journals);

} // namespace troupe::runtime::journal
