// SPDX-License-Identifier: Apache-2.0
//
// Cuts text into words, the pieces that the model never merges across.
#pragma once

#include "runtime/tokenizer/aligned_text.hpp"
#include "runtime/tokenizer/pattern.hpp"
#include "runtime/tokenizer/tokenizer_steps.hpp"

#include <filesystem>
#include <optional>
#include <vector>

namespace troupe::runtime::tokenizer {

/// Words of a text, which steps may have changed.
struct word_list {
  aligned_text text;
  std::vector<text_span> words; ///< not empty each
};

/// Immutable. Thread: any.
class pre_tokenizer {
public:
  /// Errors: tokenizer_unsupported (a regular expression, see pattern.hpp).
  pre_tokenizer(const std::vector<pre_tokenizer_step>& steps,
                const std::filesystem::path& file);

  /// Returns whether words are bytes as they are: ByteLevel comes last, and
  /// its spelling is left to the vocabulary.
  [[nodiscard]] bool gives_bytes() const { return gives_bytes_; }

  /// Returns whether words depend on where in the source the text begins.
  [[nodiscard]] bool needs_origins() const { return needs_origins_; }

  /// Returns the words of well-formed UTF-8.
  [[nodiscard]] word_list split(aligned_text text) const;

private:
  struct built_step {
    pre_tokenizer_step spec;
    std::optional<match_finder> matches;
  };
  std::vector<built_step> steps_;
  bool gives_bytes_ = false;
  bool needs_origins_ = false;
};

} // namespace troupe::runtime::tokenizer
