// SPDX-License-Identifier: Apache-2.0
#include "runtime/printable.hpp"

#include "runtime/tokenizer/utf8.hpp"

#include <algorithm>

namespace troupe::runtime {

namespace {

/// Returns the length of the well-formed character that `text` begins with, 0
/// if there is none.
std::size_t whole_character(std::string_view text) {
  const auto size =
    std::min(tokenizer::character_length(text.front()), text.size());
  return tokenizer::is_utf8(text.substr(0, size)) ? size : 0;
}

/// C0 without line feed and tab, DEL, and C1, which is C2 80 to C2 9F.
bool steers(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 2)
    return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
  return character.size() == 1 && character != "\n" && character != "\t"
         && (first < 0x20 || first == 0x7f);
}

void escape(unsigned char byte, std::string& out) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\x";
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

} // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto size = whole_character(text);
    const auto part = text.substr(0, std::max<std::size_t>(size, 1));
    if (size == 0 || steers(part))
      for (const char c : part)
        escape(static_cast<unsigned char>(c), out);
    else
      out += part;
    text.remove_prefix(part.size());
  }
  return out;
}

} // namespace troupe::runtime
