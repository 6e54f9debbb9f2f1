// SPDX-License-Identifier: Apache-2.0
//
// The post-processors of tokenizer.json, for one text: ids around it, and
// spans without the white space of their tokens.
#pragma once

#include "runtime/tokenizer/text_span.hpp"
#include "runtime/tokenizer/tokenizer_steps.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe::runtime::tokenizer {

/// A token with its place in the source.
struct traced_token {
  std::int32_t id = 0;
  text_span source;
  std::uint32_t num_leading_spaces = 0; ///< of its spelling
  std::uint32_t num_trailing_spaces = 0;
};

/// Counts what `spelling` begins and ends with: white space, or a spelled one.
traced_token trace(std::int32_t id, text_span source,
                   std::string_view spelling);

/// Immutable. Thread: any.
class post_processor {
public:
  explicit post_processor(std::vector<post_processor_step> steps)
    : steps_(std::move(steps)) {}

  /// Appends the ids that come before the text, or after it.
  void add_before(std::vector<std::int32_t>& ids) const;
  void add_after(std::vector<std::int32_t>& ids) const;

  /// Returns all ids that the steps add.
  [[nodiscard]] std::vector<std::int32_t> added_ids() const;

  /// Trims the spans of tokens of the well-formed `text`.
  void trim(std::string_view text, std::vector<traced_token>& tokens) const;

private:
  std::vector<post_processor_step> steps_;
};

} // namespace troupe::runtime::tokenizer
