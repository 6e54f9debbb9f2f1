// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/utf8.hpp"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>

namespace troupe::runtime::tokenizer {

namespace {

/// Returns the character at `at` and moves past it; negative where the text
/// is broken, past the part that could have begun a character.
UChar32 step(std::string_view text, std::size_t& at) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  UChar32 out = 0;
  // ICU counts in size_t here, so texts beyond 2 GiB are no special case.
  U8_NEXT(bytes, at, text.size(), out);
  return out;
}

bool is_in(char32_t character, std::uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(character)) & mask) != 0;
}

} // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();)
    if (static_cast<unsigned char>(text[at]) < 0x80)
      ++at;
    else if (step(text, at) < 0)
      return false;
  return true;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t kept = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = at;
    if (step(text, at) >= 0)
      continue;
    out.append(text, kept, begin - kept);
    out += "\xef\xbf\xbd";
    kept = at;
  }
  return out.append(text, kept);
}

std::size_t unfinished_bytes(std::string_view text) {
  const auto from = text.size() - std::min<std::size_t>(text.size(), 3);
  for (auto begin = from; begin < text.size(); ++begin) {
    const auto tail = text.substr(begin);
    const auto lead = static_cast<unsigned char>(tail[0]);
    if (lead < 0xc2 || lead > 0xf4)
      continue;
    const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    std::size_t at = 0;
    if (tail.size() < length && step(tail, at) < 0 && at == tail.size())
      return tail.size();
  }
  return 0;
}

char32_t next_character(std::string_view& text) {
  std::size_t at = 0;
  const auto out = step(text, at);
  text.remove_prefix(at);
  return static_cast<char32_t>(out);
}

char32_t last_character(std::string_view text) {
  auto tail = text.substr(character_begin(text, text.size() - 1));
  return next_character(tail);
}

std::string to_utf8(char32_t character) {
  std::string out(4, '\0');
  std::size_t length = 0;
  U8_APPEND_UNSAFE(out.data(), length, static_cast<std::uint32_t>(character));
  out.resize(length);
  return out;
}

std::size_t begin_of_space_before(std::string_view text) {
  while (!text.empty()) {
    const auto character = last_character(text);
    if (!is_white_space(character))
      break;
    text.remove_suffix(to_utf8(character).size());
  }
  return text.size();
}

std::size_t length_of_space_after(std::string_view text) {
  auto rest = text;
  while (!rest.empty()) {
    auto after = rest;
    if (!is_white_space(next_character(after)))
      break;
    rest = after;
  }
  return text.size() - rest.size();
}

bool is_white_space(char32_t character) {
  return u_hasBinaryProperty(static_cast<UChar32>(character), UCHAR_WHITE_SPACE)
         != 0;
}

bool is_mark(char32_t character) {
  return is_in(character, U_GC_M_MASK);
}

bool is_punctuation(char32_t character) {
  return is_in(character, U_GC_P_MASK)
         || (character < 0x80 && is_in(character, U_GC_S_MASK));
}

std::string to_lower_case(char32_t character) {
  // The only one that becomes two whatever surrounds it.
  if (character == U'\u0130')
    return "i\u0307";
  return to_utf8(
    static_cast<char32_t>(u_tolower(static_cast<UChar32>(character))));
}

bool is_numeric(char32_t character) {
  return is_in(character, U_GC_N_MASK);
}

bool is_word(char32_t character) {
  return is_in(character, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)
         || u_hasBinaryProperty(static_cast<UChar32>(character),
                                UCHAR_ALPHABETIC)
              != 0
         || u_hasBinaryProperty(static_cast<UChar32>(character),
                                UCHAR_JOIN_CONTROL)
              != 0;
}

} // namespace troupe::runtime::tokenizer
