// SPDX-License-Identifier: Apache-2.0
//
// The files of one process's journal: appending whole lines, rotation by size,
// and a full disk. Not thread-safe: it belongs to the writer's thread.
//
//   journal/<process>.jsonl           the newest
//   journal/<process>.000001.jsonl    older ones, in this order
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::runtime::journal {

class journal_file {
public:
  /// Errors: io_failed when the folder or the file cannot be made.
  journal_file(const std::filesystem::path& folder, const std::string& name,
               std::uint64_t max_bytes, std::size_t max_files);
  ~journal_file();
  journal_file(const journal_file&) = delete;
  journal_file& operator=(const journal_file&) = delete;

  /// Appends whole lines; all of them or none. Returns errno, 0 for success.
  int append(std::string_view lines);

  /// Begins a new file if this one is full. Returns true if it did.
  bool rotate();

  /// Returns errno of fsync, 0 for success.
  int sync();

  [[nodiscard]] const std::filesystem::path& path() const noexcept {
    return path_;
  }

private:
  void open();
  [[nodiscard]] std::filesystem::path older(std::uint64_t index) const;

  std::filesystem::path path_;
  std::uint64_t max_bytes_, size_ = 0;
  std::size_t max_files_;
  std::uint64_t next_index_ = 1; ///< of the next older file
  int descriptor_ = -1;
};

/// The number in the name of an older file, 0 for the newest.
struct journal_name {
  std::string process_file; ///< the process's name as a file name
  std::uint64_t index = 0;
};

/// Returns the parts of a file name; an empty name for what is no journal.
journal_name parse_journal_name(const std::filesystem::path& file);

} // namespace troupe::runtime::journal
