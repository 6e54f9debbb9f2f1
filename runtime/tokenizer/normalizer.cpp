// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/normalizer.hpp"

#include "runtime/tokenizer/byte_alphabet.hpp"
#include "runtime/tokenizer/tokenizer_spec.hpp"
#include "runtime/tokenizer/unicode_forms.hpp"
#include "runtime/tokenizer/utf8.hpp"

#include <algorithm>

namespace troupe::runtime::tokenizer {

namespace {

/// Calls `visit(character, begin, end)` for each character.
template <class Visit>
void for_each_character(std::string_view text, Visit&& visit) {
  for (auto rest = text; !rest.empty();) {
    const auto begin = text.size() - rest.size();
    const auto character = next_character(rest);
    visit(character, begin, text.size() - rest.size());
  }
}

aligned_text apply(const form_step& step, const aligned_text& text) {
  return to_normal_form(text, step.form);
}

aligned_text apply(const lowercase_step&, const aligned_text& text) {
  text_edit edit{text};
  for_each_character(text.text(), [&](char32_t character, auto begin, auto) {
    if (character >= 0x80)
      edit.put(to_lower_case(character), begin);
    else if (character >= U'A' && character <= U'Z')
      edit.put({"abcdefghijklmnopqrstuvwxyz" + (character - U'A'), 1}, begin);
    else
      edit.keep(begin, begin + 1);
  });
  return edit.finish();
}

aligned_text apply(const strip_accents_step&, const aligned_text& text) {
  text_edit edit{text};
  for_each_character(text.text(),
                     [&](char32_t character, auto begin, auto end) {
                       if (!is_mark(character))
                         edit.keep(begin, end);
                     });
  return edit.finish();
}

aligned_text apply(const prepend_step& step, const aligned_text& text) {
  text_edit edit{text};
  edit.put(step.text, 0);
  edit.keep(0, text.text().size());
  return edit.finish();
}

aligned_text apply(const strip_step& step, const aligned_text& text) {
  auto begin = std::size_t{0};
  auto end = text.text().size();
  if (step.strips_left)
    begin = length_of_space_after(text.text());
  if (step.strips_right)
    end = std::max(begin, begin_of_space_before(text.text()));
  return text.slice(begin, end);
}

aligned_text apply(const spell_bytes_step&, const aligned_text& text) {
  text_edit edit{text};
  for (std::size_t i = 0; i < text.text().size(); ++i)
    edit.put(spell_bytes(text.text().substr(i, 1)), i);
  return edit.finish();
}

aligned_text replace(const aligned_text& text, const match_finder& matches,
                     std::string_view content) {
  text_edit edit{text};
  std::size_t end_before = 0;
  matches.for_each(text.text(), [&](std::size_t begin, std::size_t end) {
    edit.keep(end_before, begin);
    edit.put(content, end - 1);
    end_before = end;
  });
  if (end_before == 0)
    return text;
  edit.keep(end_before, text.text().size());
  return edit.finish();
}

} // namespace

normalizer::normalizer(const std::vector<normalizer_step>& steps,
                       const std::filesystem::path& file) {
  for (const auto& from : steps) {
    auto& made = steps_.emplace_back(built_step{from, std::nullopt});
    if (const auto* replaces = std::get_if<replace_step>(&from)) {
      made.matches.emplace(replaces->pattern, file);
      if (made.matches->can_be_empty())
        refuse_component(file, replaces->pattern.where, replaces->pattern.text,
                         "is an expression that never matches nothing");
    }
  }
}

aligned_text normalizer::normalize(aligned_text text) const {
  for (const auto& step : steps_) {
    if (text.text().empty())
      break;
    text = std::visit(
      [&](const auto& spec) {
        if constexpr (std::is_same_v<decltype(spec), const replace_step&>)
          return replace(text, *step.matches, spec.content);
        else
          return apply(spec, text);
      },
      step.spec);
  }
  return text;
}

std::string normalizer::normalize(std::string_view text) const {
  return std::string{
    normalize(aligned_text{text, aligned_text::tracking::off}).text()};
}

} // namespace troupe::runtime::tokenizer
