// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/pre_tokenizer.hpp"

#include "protocols/failure.hpp"
#include "runtime/tokenizer/utf8.hpp"

#include <stdexcept>

namespace troupe::runtime::tokenizer {

namespace {

using words = std::vector<std::string_view>;

/// Source: openai/gpt-2, src/encoder.py, Encoder.pat. Differs: nothing.
constexpr std::string_view gpt2_expression =
  R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)"
  R"(|\s+(?!\S)|\s+)";

pattern compile(std::string_view expression,
                const std::filesystem::path& file) {
  const std::string component = "regular expression " + std::string{expression};
  const auto translated = translate_pattern(expression);
  if (translated.refused)
    throw protocols::failure{
      protocols::errc::tokenizer_unsupported,
      file.string() + ": " + component + " uses " + *translated.refused
        + "; supported is what docs/tokenizers.md lists"};
  try {
    return pattern{translated.pattern};
  } catch (const std::invalid_argument& error) {
    refuse_file(file, component + ": " + error.what());
  }
}

/// Adds the part between two positions unless it is empty.
void add(words& out, std::string_view text, std::size_t begin,
         std::size_t end) {
  if (begin < end)
    out.push_back(text.substr(begin, end - begin));
}

void cut_digits(std::string_view text, bool is_individual, words& out) {
  std::size_t begin = 0;
  bool was_digit = false;
  for (auto rest = text; !rest.empty();) {
    const auto at = text.size() - rest.size();
    const bool is_digit = is_numeric(next_character(rest));
    if (is_digit != was_digit || (is_digit && is_individual)) {
      add(out, text, begin, at);
      begin = at;
    }
    was_digit = is_digit;
  }
  add(out, text, begin, text.size());
}

void cut_regex(std::string_view text, const pattern& used, bool keeps_matches,
               bool keeps_gaps, words& out) {
  std::size_t end_before = 0;
  pattern::search search{used, text};
  while (const auto found = search.next()) {
    if (keeps_gaps)
      add(out, text, end_before, found->first);
    if (keeps_matches)
      add(out, text, found->first, found->second);
    end_before = found->second;
  }
  if (keeps_gaps)
    add(out, text, end_before, text.size());
}

void cut_literal(std::string_view text, const split_step& step, words& out) {
  std::size_t end_before = 0;
  for (auto at = text.find(step.pattern);
       !step.pattern.empty() && at != text.npos;
       at = text.find(step.pattern, end_before)) {
    if (step.keeps_gaps)
      add(out, text, end_before, at);
    end_before = at + step.pattern.size();
    if (step.keeps_matches)
      add(out, text, at, end_before);
  }
  if (step.keeps_gaps)
    add(out, text, end_before, text.size());
}

} // namespace

pre_tokenizer::pre_tokenizer(const pre_tokenizer_spec& spec,
                             const std::filesystem::path& file)
  : adds_prefix_space_(spec.adds_prefix_space) {
  for (const auto& from : spec.steps) {
    auto& made = steps_.emplace_back(step{from, std::nullopt});
    if (from.split && from.split->is_regex)
      made.regex.emplace(compile(from.split->pattern, file));
  }
  if (spec.uses_gpt2_pattern)
    gpt2_pattern_.emplace(compile(gpt2_expression, file));
}

word_list pre_tokenizer::split(std::string_view text) const {
  word_list out;
  out.words.push_back(text);
  words next;
  for (const auto& [spec, regex] : steps_) {
    next.clear();
    for (const auto word : out.words)
      if (spec.digits)
        cut_digits(word, spec.digits->is_individual, next);
      else if (regex)
        cut_regex(word, *regex, spec.split->keeps_matches,
                  spec.split->keeps_gaps, next);
      else
        cut_literal(word, *spec.split, next);
    out.words.swap(next);
  }
  if (adds_prefix_space_)
    for (auto& word : out.words)
      if (!word.starts_with(' '))
        word = out.owned.emplace_back(" " + std::string{word});
  if (gpt2_pattern_) {
    next.clear();
    for (const auto word : out.words)
      cut_regex(word, *gpt2_pattern_, true, true, next);
    out.words.swap(next);
  }
  return out;
}

} // namespace troupe::runtime::tokenizer
