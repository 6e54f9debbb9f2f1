// SPDX-License-Identifier: Apache-2.0
//
// rollouts.jsonl: groups for people to read, one a line; bytes of a completion
// that are no UTF-8 appear as U+FFFD.
#pragma once

#include "protocols/ids.hpp"
#include "runtime/outputs/record_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::runtime::outputs {

struct logged_sample {
  std::string completion;
  double reward = 0;
  double advantage = 0;
  std::int64_t num_completion_tokens = 0;
  std::string finish; ///< stop_token, budget or aborted
  protocols::policy_version min_policy_version = 0, max_policy_version = 0;
};

struct logged_group {
  std::int64_t step = 0; ///< as in metrics.jsonl
  protocols::group_id id = {};
  std::string prompt = {}, answer = {};
  std::vector<logged_sample> samples = {};
};

/// Returns the group as one line of JSON, without the line's end.
std::string to_json(const logged_group& group);

class rollouts_writer {
public:
  /// As metrics_writer.
  explicit rollouts_writer(const std::filesystem::path& path,
                           std::optional<std::int64_t> resumed_step = {})
    : file_(path, resumed_step) {}

  /// Errors: io_failed.
  void write(const logged_group& group) { file_.append(to_json(group)); }

private:
  record_file file_;
};

} // namespace troupe::runtime::outputs
