// SPDX-License-Identifier: Apache-2.0
//
// Rows of a JSONL file: an object a line, of which two text fields are kept.
#pragma once

#include "runtime/config/job_config.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::runtime::data {

struct prompt_row {
  std::string prompt;    ///< UTF-8, not empty
  std::string answer;    ///< UTF-8; for SFT the completion
  std::int64_t line = 0; ///< in the file, from 1
};

/// What became of the lines of one file. Blank lines count as neither.
struct prompt_rows {
  std::string file;
  std::vector<prompt_row> rows;
  std::int64_t num_dropped = 0;
  std::vector<std::string> first_dropped; ///< at most ten, "FILE:LINE: why"

  /// Returns a line such as "sums.jsonl: 990 rows kept, 10 dropped" with the
  /// reasons below it.
  [[nodiscard]] std::string describe() const;
};

/// Reads source.file. A number as a field counts as its text.
/// An empty source.answer_field: nobody needs answers. `on_bad_row`: "stop"
/// throws at the first bad row, "skip" counts it. Errors: data_unreadable (path
/// and errno), data_bad_row (file, line, field, reason), data_empty (zero rows
/// kept, with the first reasons).
prompt_rows read_prompt_rows(const config::data_source_block& source,
                             const std::string& on_bad_row);

} // namespace troupe::runtime::data
