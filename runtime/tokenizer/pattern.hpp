// SPDX-License-Identifier: Apache-2.0
//
// A regular expression of tokenizer.json. Those are written for Oniguruma and
// run by PCRE2 here; docs/tokenizers.md lists what that means.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::runtime::tokenizer {

/// Returns `pattern` for PCRE2 with the meaning it has for Oniguruma, or the
/// first construct that has no equal here, as `refused`.
struct translated_pattern {
  std::string pattern;
  std::optional<std::string> refused;
};
translated_pattern translate_pattern(std::string_view pattern);

/// Immutable. Thread: any.
class pattern {
public:
  /// Compiles what translate_pattern() returns. Throws std::invalid_argument
  /// with the library's text.
  explicit pattern(const std::string& translated);
  pattern(pattern&&) noexcept;
  pattern& operator=(pattern&&) noexcept;
  ~pattern();

  /// Walks over the matches of one text, left to right. The pattern and the
  /// text must live on.
  class search {
  public:
    /// `text` is well-formed UTF-8.
    search(const pattern& used, std::string_view text);
    search(search&&) = delete;
    ~search();

    /// Returns begin and end of the next match that is not empty.
    /// Errors: internal (PCRE2's limits; the text names them).
    std::optional<std::pair<std::size_t, std::size_t>> next();

  private:
    const pattern* used_;
    std::string_view text_;
    std::size_t from_ = 0;
    void* match_data_;
  };

private:
  struct compiled;
  std::unique_ptr<compiled> compiled_;
};

} // namespace troupe::runtime::tokenizer
