// SPDX-License-Identifier: Apache-2.0
//
// Where rows lie: eight bytes of memory a row, whatever its size. A row is a
// line of a data file, or, where that cannot be read from its middle
// (compressed, rendered), a line of a spool: a file without a name, in the run
// directory, that goes with the process.
#pragma once

#include "runtime/process/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::data {

/// Thread: one while rows are added; then any.
class row_store {
public:
  explicit row_store(std::filesystem::path spool_folder)
    : spool_folder_(std::move(spool_folder)) {}

  /// Rows that refer_to() adds lie in this file from now on.
  /// Errors: data_unreadable.
  void open(const std::string& path);

  /// Adds the line that begins at `offset` of the file.
  void refer_to(std::uint64_t offset);

  /// Adds a line by itself; it has no "\n". Errors: io_failed.
  void spool(std::string_view line);

  /// To be called after the last row. Errors: io_failed.
  void finish();

  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }

  /// Returns the line of a row, index < size(). Errors: data_unreadable (the
  /// file has become shorter, or cannot be read any more).
  [[nodiscard]] std::string line(std::size_t index) const;

  /// Returns the file that a row lies in.
  [[nodiscard]] const std::string& file_of(std::size_t index) const;

private:
  /// 16 bits of file, 48 of offset: files up to 256 TiB.
  static constexpr int offset_bits = 48;
  struct store_file {
    process::unique_fd fd;
    std::string path;
  };

  void flush();
  std::uint64_t place(std::size_t file, std::uint64_t offset) const;

  std::filesystem::path spool_folder_;
  std::vector<store_file> files_;
  std::vector<std::uint64_t> places_;
  std::size_t spool_file_ = SIZE_MAX; ///< in files_
  std::uint64_t spool_size_ = 0;      ///< with what is not written yet
  std::string unwritten_;
};

} // namespace troupe::runtime::data
