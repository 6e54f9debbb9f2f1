// SPDX-License-Identifier: Apache-2.0
//
// Rows that are too long, found before step 0: all counted, ten named.
#pragma once

#include <cstdint>
#include <string>

namespace troupe::runtime::data {

/// How long a part of a row may be, in the words of a refusal.
struct length_limit {
  std::int64_t max_tokens = 0;
  std::string what;   ///< such as "prompts"
  std::string remedy; ///< such as "raise rollout.max_prompt_tokens"
};

class length_check {
public:
  explicit length_check(length_limit limit) : limit_(std::move(limit)) {}

  /// `place`: "FILE:LINE".
  void add(const std::string& place, std::int64_t num_tokens);

  /// `file`: what was read, of which `num_rows` rows were kept.
  /// Errors: prompt_too_long with the count, and file, line and length of the
  /// first ten.
  void finish(const std::string& file, std::size_t num_rows) const;

private:
  length_limit limit_;
  std::int64_t num_long_ = 0;
  std::string listed_;
};

} // namespace troupe::runtime::data
