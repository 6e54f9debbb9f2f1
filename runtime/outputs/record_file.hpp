// SPDX-License-Identifier: Apache-2.0
//
// A file of JSON records, one object with a "step" a line, steps never
// falling: what a resumed run can cut back to the step that it resumes from.
#pragma once

#include "runtime/checkpoint/file_io.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace troupe::runtime::outputs {

/// Returns a JSON number that reads back to the same bits, or the text "nan",
/// "inf" or "-inf", in quotes.
std::string json_number(double value);

class record_file {
public:
  /// Opens for appending; `resumed_step`: as truncate_records first.
  /// Errors: io_failed; checkpoint_corrupt as in truncate_records.
  explicit record_file(std::filesystem::path path,
                       std::optional<std::int64_t> resumed_step = {});

  /// Hands one record to the operating system; the line's end is added.
  /// Errors: io_failed; the file then ends with the record before.
  void append(std::string record);

private:
  std::filesystem::path path_;
  checkpoint::file_handle file_;
};

/// Cuts the file after the last whole record with step <= `last_step`; a torn
/// last line goes, too. Returns the number of records left, 0 without a file.
/// Errors: checkpoint_corrupt (file:line) for a whole line before that is no
/// record; the file is as it was. io_failed.
std::int64_t truncate_records(const std::filesystem::path& path,
                              std::int64_t last_step);

} // namespace troupe::runtime::outputs
