// SPDX-License-Identifier: Apache-2.0
//
// Cuts text into words, the pieces that BPE never merges across.
#pragma once

#include "runtime/tokenizer/pattern.hpp"
#include "runtime/tokenizer/tokenizer_spec.hpp"

#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::tokenizer {

/// Words point into the text, or into `owned` where a space was put before.
struct word_list {
  std::vector<std::string_view> words;
  std::deque<std::string> owned;
};

/// Immutable. Thread: any.
class pre_tokenizer {
public:
  /// Errors: tokenizer_unsupported (a regular expression that PCRE2 would
  /// read otherwise, or not at all).
  pre_tokenizer(const pre_tokenizer_spec& spec,
                const std::filesystem::path& file);

  /// Returns the words of `text`, which is well-formed UTF-8.
  [[nodiscard]] word_list split(std::string_view text) const;

private:
  struct step {
    pre_tokenizer_spec::step spec;
    std::optional<pattern> regex;
  };
  std::vector<step> steps_;
  bool adds_prefix_space_;
  std::optional<pattern> gpt2_pattern_;
};

} // namespace troupe::runtime::tokenizer
