// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/pre_tokenizer.hpp"

#include "runtime/tokenizer/byte_alphabet.hpp"
#include "runtime/tokenizer/split_behaviors.hpp"
#include "runtime/tokenizer/utf8.hpp"

namespace troupe::runtime::tokenizer {

namespace {

using part = word_cutter::part;

/// Source: openai/gpt-2, src/encoder.py, Encoder.pat. Differs: nothing.
constexpr std::string_view gpt2_expression =
  R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)"
  R"(|\s+(?!\S)|\s+)";

/// Cuts each word anew: `cut(word's text, cutter)`, with places in that text.
template <class Cut>
void cut_words(word_list& list, split_behavior behavior, Cut&& cut) {
  std::vector<text_span> out;
  out.reserve(2 * list.words.size());
  for (const auto word : list.words) {
    const auto first = out.size();
    word_cutter cutter{behavior, out};
    cut(list.text.text().substr(word.begin, word.end - word.begin), cutter);
    cutter.finish();
    for (auto i = first; i < out.size(); ++i)
      out[i] = {out[i].begin + word.begin, out[i].end + word.begin};
  }
  list.words = std::move(out);
}

void cut_at_matches(word_list& list, const match_finder& matches,
                    split_behavior behavior, bool inverts) {
  const auto match = inverts ? part::between : part::match;
  const auto between = inverts ? part::match : part::between;
  cut_words(list, behavior, [&](std::string_view text, word_cutter& cutter) {
    std::size_t end_before = 0;
    matches.for_each(text, [&](std::size_t begin, std::size_t end) {
      if (end_before < begin)
        cutter.add(end_before, begin, between);
      cutter.add(begin, end, match);
      end_before = end;
    });
    if (end_before < text.size())
      cutter.add(end_before, text.size(), between);
  });
}

/// Cuts at each character that `matches`.
template <class Matches>
void cut_at_characters(word_list& list, split_behavior behavior,
                       Matches&& matches) {
  cut_words(list, behavior, [&](std::string_view text, word_cutter& cutter) {
    std::size_t end_before = 0;
    for (auto rest = text; !rest.empty();) {
      const auto begin = text.size() - rest.size();
      if (!matches(next_character(rest)))
        continue;
      if (end_before < begin)
        cutter.add(end_before, begin, part::between);
      end_before = text.size() - rest.size();
      cutter.add(begin, end_before, part::match);
    }
    if (end_before < text.size())
      cutter.add(end_before, text.size(), part::between);
  });
}

/// Changes each word: `change(word, edit)` writes it.
template <class Change>
void change_words(word_list& list, Change&& change) {
  text_edit edit{list.text};
  for (auto& word : list.words) {
    const auto begin = edit.size();
    change(word, edit);
    word = {begin, edit.size()};
  }
  list.text = edit.finish();
}

void apply(const digits_step& step, word_list& list) {
  cut_at_characters(list,
                    step.is_individual ? split_behavior::isolated
                                       : split_behavior::contiguous,
                    is_numeric);
}

void apply(const whitespace_split_step&, word_list& list) {
  cut_at_characters(list, split_behavior::removed, is_white_space);
}

void apply(const punctuation_step& step, word_list& list) {
  cut_at_characters(list, step.behavior, is_punctuation);
}

void apply(const whitespace_step&, word_list& list) {
  enum class kind { space, word, other };
  const auto kind_of = [](char32_t character) {
    return is_word(character)          ? kind::word
           : is_white_space(character) ? kind::space
                                       : kind::other;
  };
  cut_words(list, split_behavior::removed,
            [&](std::string_view text, word_cutter& cutter) {
              auto begin = std::size_t{0};
              auto kind_before = kind::space;
              const auto end_run = [&](std::size_t end) {
                cutter.add(begin, end,
                           kind_before == kind::space ? part::match
                                                      : part::between);
                begin = end;
              };
              for (auto rest = text; !rest.empty();) {
                const auto at = text.size() - rest.size();
                const auto found = kind_of(next_character(rest));
                if (found != kind_before)
                  end_run(at);
                kind_before = found;
              }
              end_run(text.size());
            });
}

void apply(const metaspace_step& step, word_list& list) {
  change_words(list, [&](text_span word, text_edit& edit) {
    const auto text =
      list.text.text().substr(word.begin, word.end - word.begin);
    const bool is_marked = text[0] == ' ' || text.starts_with(step.replacement);
    if (!is_marked
        && (step.prepends == prepend_scheme::always
            || (step.prepends == prepend_scheme::first
                && list.text.origin(word.begin).begin == 0)))
      edit.put(step.replacement, word.begin);
    std::size_t end_before = 0;
    for (auto at = text.find(' '); at != text.npos;
         at = text.find(' ', at + 1)) {
      edit.keep(word.begin + end_before, word.begin + at);
      edit.put(step.replacement, word.begin + at);
      end_before = at + 1;
    }
    edit.keep(word.begin + end_before, word.end);
  });
  if (!step.splits)
    return;
  auto rest = std::string_view{step.replacement};
  const auto mark = next_character(rest);
  cut_at_characters(list, split_behavior::merged_with_next,
                    [mark](char32_t character) { return character == mark; });
}

void add_prefix_spaces(word_list& list) {
  change_words(list, [&](text_span word, text_edit& edit) {
    if (list.text.text()[word.begin] != ' ')
      edit.put(" ", word.begin);
    edit.keep(word.begin, word.end);
  });
}

void spell_words(word_list& list) {
  change_words(list, [&](text_span word, text_edit& edit) {
    for (auto i = word.begin; i < word.end; ++i)
      edit.put(spell_bytes(list.text.text().substr(i, 1)), i);
  });
}

} // namespace

pre_tokenizer::pre_tokenizer(const std::vector<pre_tokenizer_step>& steps,
                             const std::filesystem::path& file) {
  for (const auto& from : steps) {
    auto& made = steps_.emplace_back(built_step{from, std::nullopt});
    if (const auto* split = std::get_if<split_step>(&from))
      made.matches.emplace(split->pattern, file);
    if (const auto* bytes = std::get_if<byte_level_step>(&from);
        bytes != nullptr && bytes->uses_gpt2_pattern)
      made.matches.emplace(
        text_pattern{std::string{gpt2_expression}, true, "ByteLevel"}, file);
    if (const auto* marks = std::get_if<metaspace_step>(&from))
      needs_origins_ |= marks->prepends == prepend_scheme::first;
  }
  gives_bytes_ =
    !steps.empty() && std::holds_alternative<byte_level_step>(steps.back());
}

word_list pre_tokenizer::split(aligned_text text) const {
  const auto size = text.text().size();
  word_list out{std::move(text), {}};
  if (size > 0)
    out.words.push_back({0, size});
  for (const auto& [spec, matches] : steps_)
    if (const auto* split = std::get_if<split_step>(&spec)) {
      cut_at_matches(out, *matches, split->behavior, split->inverts);
    } else if (const auto* bytes = std::get_if<byte_level_step>(&spec)) {
      if (bytes->adds_prefix_space)
        add_prefix_spaces(out);
      if (matches)
        cut_at_matches(out, *matches, split_behavior::isolated, false);
      if (!gives_bytes_ || &spec != &steps_.back().spec)
        spell_words(out);
    } else {
      std::visit(
        [&](const auto& simple) {
          if constexpr (requires { apply(simple, out); })
            apply(simple, out);
        },
        spec);
    }
  return out;
}

} // namespace troupe::runtime::tokenizer
