// SPDX-License-Identifier: Apache-2.0
//
// A regular expression of tokenizer.json. Those are written for Oniguruma and
// run by PCRE2 here; docs/tokenizers.md lists what that means.
#pragma once

#include "runtime/tokenizer/tokenizer_steps.hpp"

#include <cstddef>
#include <filesystem>
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

    /// Returns begin and end of the next match. An empty one comes only where
    /// the match before it does not end.
    /// Errors: internal (PCRE2's limits; the text names them).
    std::optional<std::pair<std::size_t, std::size_t>> next();

  private:
    const pattern* used_;
    std::string_view text_;
    std::size_t from_ = 0;
    std::optional<std::size_t> end_before_; ///< of the last match
    void* match_data_;
  };

  [[nodiscard]] bool can_be_empty() const;

private:
  struct compiled;
  std::unique_ptr<compiled> compiled_;
};

/// What a text_pattern matches. Immutable. Thread: any.
class match_finder {
public:
  /// Errors: tokenizer_unsupported (an expression that PCRE2 would read
  /// otherwise; an empty text); tokenizer_unreadable (one that is none).
  match_finder(const text_pattern& from, const std::filesystem::path& file);

  [[nodiscard]] bool can_be_empty() const;

  /// Calls `visit(begin, end)` for each match in well-formed UTF-8, left to
  /// right.
  template <class Visit>
  void for_each(std::string_view text, Visit&& visit) const {
    if (regex_) {
      pattern::search search{*regex_, text};
      while (const auto found = search.next())
        visit(found->first, found->second);
      return;
    }
    for (auto at = text.find(literal_); at != text.npos;
         at = text.find(literal_, at + literal_.size()))
      visit(at, at + literal_.size());
  }

private:
  std::string literal_; ///< not empty, without regex_
  std::optional<pattern> regex_;
};

} // namespace troupe::runtime::tokenizer
