// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/post_processor.hpp"

#include "runtime/tokenizer/utf8.hpp"

#include <algorithm>

namespace troupe::runtime::tokenizer {

namespace {

bool is_space(char32_t character) {
  return character == U'\u0120' || is_white_space(character);
}

text_span without_spaces(std::string_view text, text_span span,
                         std::uint32_t num_leading,
                         std::uint32_t num_trailing) {
  for (; num_leading > 0 && span.begin < span.end; --num_leading)
    span.begin += character_length(text[span.begin]);
  auto end = span.end;
  for (; num_trailing > 0; --num_trailing) {
    if (end == 0)
      return span; // as `tokenizers`: more than there is leaves all
    end = character_begin(text, end - 1);
  }
  return {span.begin, std::max(end, span.begin)};
}

} // namespace

traced_token trace(std::int32_t id, text_span source,
                   std::string_view spelling) {
  traced_token out{id, source, 0, 0};
  for (auto rest = spelling; !rest.empty() && is_space(next_character(rest));)
    ++out.num_leading_spaces;
  for (auto rest = spelling; !rest.empty();) {
    const auto last = last_character(rest);
    if (!is_space(last))
      break;
    rest.remove_suffix(to_utf8(last).size());
    ++out.num_trailing_spaces;
  }
  return out;
}

void post_processor::add_before(std::vector<std::int32_t>& ids) const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
    if (const auto* found = std::get_if<template_step>(&*step))
      ids.insert(ids.end(), found->before.begin(), found->before.end());
}

void post_processor::add_after(std::vector<std::int32_t>& ids) const {
  for (const auto& step : steps_)
    if (const auto* found = std::get_if<template_step>(&step))
      ids.insert(ids.end(), found->after.begin(), found->after.end());
}

std::vector<std::int32_t> post_processor::added_ids() const {
  std::vector<std::int32_t> out;
  add_before(out);
  add_after(out);
  return out;
}

void post_processor::trim(std::string_view text,
                          std::vector<traced_token>& tokens) const {
  bool follows_template = false;
  for (const auto& step : steps_) {
    const auto* trims = std::get_if<trim_spans_step>(&step);
    follows_template |=
      trims == nullptr && !std::get<template_step>(step).before.empty();
    for (std::size_t i = 0; trims != nullptr && i < tokens.size(); ++i) {
      auto& token = tokens[i];
      const bool is_first =
        (i == 0 && !follows_template) || token.source.begin == 0;
      auto num_leading = token.num_leading_spaces;
      // One that was added, not read, stays; of more than one, none was added.
      if (is_first && trims->adds_prefix_space && num_leading == 1)
        num_leading = 0;
      token.source = without_spaces(text, token.source, num_leading,
                                    token.num_trailing_spaces);
    }
  }
}

} // namespace troupe::runtime::tokenizer
