// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/decoder.hpp"

#include "runtime/tokenizer/byte_alphabet.hpp"
#include "runtime/tokenizer/tokenizer_spec.hpp"
#include "runtime/tokenizer/utf8.hpp"

#include <charconv>
#include <utility>

namespace troupe::runtime::tokenizer {

namespace {

constexpr std::string_view replacement_character = "\xef\xbf\xbd";

/// Returns 10 for "<0x0A>".
std::optional<char> byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
    return std::nullopt;
  unsigned value = 0;
  const auto* end = token.data() + 5;
  if (std::from_chars(token.data() + 3, end, value, 16).ptr != end)
    return std::nullopt;
  return static_cast<char>(value);
}

std::string strip(const strip_decode& how, std::string_view token) {
  for (std::size_t i = 0; i < how.max_at_start; ++i)
    if (token.starts_with(how.content))
      token.remove_prefix(how.content.size());
  for (std::size_t i = 0; i < how.max_at_end; ++i)
    if (token.ends_with(how.content))
      token.remove_suffix(how.content.size());
  return std::string{token};
}

std::string replace(std::string_view token, const match_finder& matches,
                    std::string_view content) {
  std::string out;
  std::size_t end_before = 0;
  matches.for_each(token, [&](std::size_t begin, std::size_t end) {
    out.append(token, end_before, begin - end_before).append(content);
    end_before = end;
  });
  return out.append(token, end_before);
}

bool is_own(const decoder_step& step) {
  return std::holds_alternative<replace_step>(step)
         || std::holds_alternative<strip_decode>(step);
}

bool is_joining(const decoder_step& step) {
  return std::holds_alternative<byte_level_decode>(step)
         || std::holds_alternative<fuse_decode>(step);
}

} // namespace

decoder::decoder(const std::optional<std::vector<decoder_step>>& steps,
                 const std::vector<std::string_view>& spellings,
                 const std::filesystem::path& file)
  : puts_spaces_(!steps) {
  if (steps)
    read_steps(*steps, file);
  read_texts(spellings);
}

void decoder::read_steps(const std::vector<decoder_step>& steps,
                         const std::filesystem::path& file) {
  bool is_joined = false;
  for (const auto& from : steps) {
    if (is_joining(from)) {
      if (is_joined && std::holds_alternative<byte_level_decode>(from))
        refuse_component(file, "decoder", "ByteLevel after the tokens are one",
                         "is ByteLevel before Fuse, once");
      is_joined = true;
      joins_bytes_ |= std::holds_alternative<byte_level_decode>(from);
      continue;
    }
    if (is_joined && std::holds_alternative<byte_fallback_decode>(from))
      refuse_component(file, "decoder", "ByteFallback after the tokens are one",
                       "is ByteFallback before Fuse");
    auto& list = is_joined                         ? after_
                 : middle_.empty() && is_own(from) ? before_
                                                   : middle_;
    auto& made = list.emplace_back(built_step{from, std::nullopt});
    if (const auto* replaces = std::get_if<replace_step>(&from)) {
      made.matches.emplace(replaces->pattern, file);
      if (made.matches->can_be_empty())
        refuse_component(file, replaces->pattern.where, replaces->pattern.text,
                         "is an expression that never matches nothing");
    }
  }
  // Only a start can be stripped as the text comes.
  if (!after_.empty()) {
    const auto* strips = std::get_if<strip_decode>(&after_[0].spec);
    waits_for_end_ =
      after_.size() > 1 || strips == nullptr || strips->max_at_end > 0;
  }
}

void decoder::read_texts(const std::vector<std::string_view>& spellings) {
  begins_.reserve(spellings.size() + 1);
  for (const auto spelling : spellings) {
    begins_.push_back(texts_.size());
    std::string changed;
    auto text = spelling;
    for (const auto& step : before_)
      text = changed = change(step, text, false);
    // A token that is not all of the alphabet stands for itself.
    const auto unspelled =
      joins_bytes_ && middle_.empty() ? unspell_bytes(text) : std::nullopt;
    texts_ += unspelled ? std::string_view{*unspelled} : text;
  }
  begins_.push_back(texts_.size());
}

std::string_view decoder::text_of(std::int32_t id) const {
  if (id < 0 || static_cast<std::size_t>(id) + 1 >= begins_.size())
    return {};
  const auto index = static_cast<std::size_t>(id);
  return std::string_view{texts_}.substr(begins_[index],
                                         begins_[index + 1] - begins_[index]);
}

std::string decoder::change(const built_step& how, std::string_view token,
                            bool is_first) const {
  if (const auto* strips = std::get_if<strip_decode>(&how.spec))
    return strip(*strips, token);
  if (const auto* replaces = std::get_if<replace_step>(&how.spec))
    return replace(token, *how.matches, replaces->content);
  const auto& marks = std::get<metaspace_decode>(how.spec);
  std::string out;
  for (std::size_t at = 0; at < token.size();) {
    const auto found =
      std::min(token.find(marks.replacement, at), token.size());
    out += token.substr(at, found - at);
    if (found < token.size() && !(is_first && marks.drops_first))
      out += ' ';
    at = found + marks.replacement.size();
  }
  return out;
}

decode_state decoder::begin() const {
  decode_state out;
  out.steps.resize(middle_.size());
  return out;
}

void decoder::push(decode_state& now, std::int32_t id, std::string& out) const {
  const auto text = text_of(id);
  if (puts_spaces_ && now.has_seen_token)
    emit(now, " ", out);
  now.has_seen_token = true;
  push_from(now, 0, text, out);
}

void decoder::push_from(decode_state& now, std::size_t index,
                        std::string_view token, std::string& out) const {
  if (index == middle_.size())
    return join(now, token, out);
  const auto& step = middle_[index];
  auto& [bytes, has_seen_token] = now.steps[index];
  if (!std::holds_alternative<byte_fallback_decode>(step.spec)) {
    const bool is_first = !std::exchange(has_seen_token, true);
    return push_from(now, index + 1, change(step, token, is_first), out);
  }
  if (const auto byte = byte_of(token)) {
    bytes += *byte;
    return;
  }
  end_run(now, index, out);
  push_from(now, index + 1, token, out);
}

/// A run of byte tokens is one text if all of it is well-formed, else one
/// replacement for each byte.
void decoder::end_run(decode_state& now, std::size_t index,
                      std::string& out) const {
  const auto run = std::exchange(now.steps[index].bytes, {});
  if (run.empty())
    return;
  if (is_utf8(run))
    return push_from(now, index + 1, run, out);
  for (std::size_t i = 0; i < run.size(); ++i)
    push_from(now, index + 1, replacement_character, out);
}

void decoder::join(decode_state& now, std::string_view token,
                   std::string& out) const {
  if (!joins_bytes_)
    return emit(now, token, out);
  if (middle_.empty()) {
    now.text += token;
  } else {
    const auto unspelled = unspell_bytes(token);
    now.text += unspelled ? std::string_view{*unspelled} : token;
  }
  if (waits_for_end_)
    return;
  const auto certain = now.text.size() - unfinished_bytes(now.text);
  emit(now, to_valid_utf8(std::string_view{now.text}.substr(0, certain)), out);
  now.text.erase(0, certain);
}

void decoder::emit(decode_state& now, std::string_view text,
                   std::string& out) const {
  if (waits_for_end_) {
    now.text += text;
    return;
  }
  if (!after_.empty() && !now.is_past_start) {
    const auto& strips = std::get<strip_decode>(after_[0].spec);
    while (now.num_stripped < strips.max_at_start
           && text.starts_with(strips.content)) {
      text.remove_prefix(strips.content.size());
      ++now.num_stripped;
    }
    now.is_past_start = !text.empty();
  }
  out += text;
}

void decoder::finish(decode_state& now, std::string& out) const {
  for (std::size_t i = 0; i < middle_.size(); ++i)
    end_run(now, i, out);
  auto rest = to_valid_utf8(now.text);
  if (waits_for_end_)
    for (const auto& step : after_)
      rest = change(step, rest, true);
  now.text.clear();
  if (waits_for_end_)
    out += rest;
  else
    emit(now, rest, out);
  now = begin();
}

} // namespace troupe::runtime::tokenizer
