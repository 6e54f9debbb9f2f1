// SPDX-License-Identifier: Apache-2.0
//
// metrics.jsonl: one record a step and stage, flushed as it is written. A
// double reads back to the same bits; what is not finite is the text "nan",
// "inf" or "-inf". Keys: metric_keys.hpp, docs/metrics.md.
#pragma once

#include "runtime/outputs/record_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::outputs {

/// One number under a key of metric_keys.hpp.
struct metric {
  std::string key;
  double value = 0;
};

/// What a record is about; its text is in the record as "stage".
enum class stage : std::uint8_t { warmup, train, eval };

/// Returns "warmup", "train" or "eval".
std::string_view to_string(stage value);

struct metric_record {
  /// Rollout batches (SFT: optimizer steps) done so far, the warm-up's steps
  /// counted first. Does not fall from record to record.
  std::int64_t step = 0;
  stage about = stage::train;
  std::vector<metric> metrics;
};

/// Returns the record as one line of JSON, without the line's end.
std::string to_json(const metric_record& record);

class metrics_writer {
public:
  /// Appends to `path`. `resumed_step`: records after it are cut off first.
  /// Errors: as record_file.
  explicit metrics_writer(const std::filesystem::path& path,
                          std::optional<std::int64_t> resumed_step = {})
    : file_(path, resumed_step) {}

  /// Errors: internal for a key that metric_keys.hpp does not list, or one
  /// given twice, and for a falling step; io_failed. Nothing is written then.
  void write(const metric_record& record);

private:
  record_file file_;
  std::int64_t last_step_ = 0;
};

/// Reads records back, non-finite ones included. Errors: data_unreadable with
/// file:line; a torn last line is left out.
std::vector<metric_record> read_metrics(const std::filesystem::path& path);

} // namespace troupe::runtime::outputs
