// SPDX-License-Identifier: Apache-2.0
//
// Rows of JSONL files: an object a line, of which two fields are kept. Every
// line is read and checked once, before step 0; later a row is read again when
// it is asked for, so that data may be larger than memory.
#pragma once

#include "runtime/config/job_config.hpp"
#include "runtime/data/row_store.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace troupe::runtime::data {

struct prompt_row {
  std::string prompt; ///< UTF-8, not empty
  std::string answer; ///< UTF-8; for SFT the completion
};

/// Thrown by a check: why a line is no row of this job.
struct bad_row {
  std::string reason; ///< with the field's name
};

struct read_options {
  std::string on_bad_row = "stop"; ///< or skip
  /// Where what must be unpacked goes.
  std::filesystem::path spool_folder = std::filesystem::temp_directory_path();
  /// Called for each row, with its "FILE:LINE"; throws bad_row, or a failure
  /// that ends the reading.
  std::function<void(const prompt_row& row, const std::string& place)> check =
    nullptr;
};

/// What became of the lines of one source. Blank lines count as neither.
/// Thread: any.
class prompt_rows {
public:
  /// Reads the files of `source`. A number as a field counts as its text; a
  /// field's name may be a path into objects, as in "extra.answer". An empty
  /// source.answer_field: nobody needs answers. on_bad_row "stop" throws at the
  /// first bad row, "skip" counts it.
  /// Errors: data_unreadable (path and reason), data_bad_row (file, line,
  /// field, reason), data_empty (zero rows kept, with the first reasons),
  /// unsupported (Parquet and others, by name), io_failed (the spool), those of
  /// the check.
  static prompt_rows read(const config::data_source_block& source,
                          const read_options& options);

  [[nodiscard]] std::size_t size() const noexcept { return store_.size(); }

  /// Returns a row, index < size(). Errors: data_unreadable when the file was
  /// changed since.
  [[nodiscard]] prompt_row row(std::size_t index) const;

  /// Returns the source in words: "sums.jsonl", "parts (3 files)".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  [[nodiscard]] std::int64_t num_dropped() const noexcept {
    return num_dropped_;
  }

  /// Returns at most ten, "FILE:LINE: why".
  [[nodiscard]] const std::vector<std::string>& first_dropped() const noexcept {
    return first_dropped_;
  }

  /// Returns a line such as "sums.jsonl: 990 rows kept, 10 dropped" with the
  /// reasons below it.
  [[nodiscard]] std::string describe() const;

private:
  prompt_rows(const config::data_source_block& source,
              const std::filesystem::path& spool_folder);

  void read_file(const std::string& path, const read_options& options);
  void drop(const std::string& place, const std::string& reason,
            const read_options& options);

  config::data_source_block source_;
  std::string name_;
  row_store store_;
  std::int64_t num_dropped_ = 0;
  std::vector<std::string> first_dropped_;
};

} // namespace troupe::runtime::data
