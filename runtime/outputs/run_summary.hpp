// SPDX-License-Identifier: Apache-2.0
//
// summary.json: how a run ended; written once, at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace troupe::runtime::outputs {

/// What became of the rows of one split of the data.
struct data_counts {
  std::int64_t rows_kept = 0, rows_dropped = 0;

  bool operator==(const data_counts&) const = default;
};

struct run_summary {
  std::string status; ///< completed, stopped, failed or aborted
  int exit_code = 0;
  std::string reason;                ///< one line for people
  std::vector<std::string> causes;   ///< "code: text", nearest first
  std::vector<std::string> warnings; ///< as "completed, teardown fault"
  std::int64_t steps = 0;            ///< as in metrics.jsonl
  std::uint64_t policy_version = 0;
  double wall_seconds = 0;
  std::string checkpoint;                  ///< newest sealed one; empty: none
  std::string final_model;                 ///< folder; empty: none
  std::map<std::string, data_counts> data; ///< by "train" and "eval"
  std::map<std::string, double> metrics;   ///< as eval/heldout_accuracy, last
};

/// Returns indented JSON; what is not finite as text, as in metrics.jsonl.
std::string to_json(const run_summary& summary);

/// Replaces `path` in one step. Errors: io_failed.
void write_summary(const std::filesystem::path& path,
                   const run_summary& summary);

/// Errors: data_unreadable.
run_summary read_summary(const std::filesystem::path& path);

} // namespace troupe::runtime::outputs
