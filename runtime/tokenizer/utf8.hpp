// SPDX-License-Identifier: Apache-2.0
//
// What the tokenizer asks of UTF-8 and of single characters. Broken input is
// read as browsers and Rust do: one U+FFFD for each longest part that could
// have begun a character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::runtime::tokenizer {

/// True if `text` is well-formed.
bool is_utf8(std::string_view text);

/// Returns `text` with U+FFFD in place of what is broken.
std::string to_valid_utf8(std::string_view text);

/// Returns how many bytes at the end begin a character that may be completed.
std::size_t unfinished_bytes(std::string_view text);

/// Takes the first character off well-formed, non-empty text.
char32_t next_character(std::string_view& text);

/// Returns the last character of well-formed, non-empty text.
char32_t last_character(std::string_view text);

std::string to_utf8(char32_t character);

/// Returns where the character that holds byte `index` begins.
inline std::size_t character_begin(std::string_view text, std::size_t index) {
  while (index > 0 && (static_cast<unsigned char>(text[index]) & 0xc0) == 0x80)
    --index;
  return index;
}

/// Returns the length of a character by its first byte.
inline std::size_t character_length(char first) {
  const auto lead = static_cast<unsigned char>(first);
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/// Returns where the white space at the end of `text` begins.
std::size_t begin_of_space_before(std::string_view text);

/// Returns how many bytes of white space `text` begins with.
std::size_t length_of_space_after(std::string_view text);

bool is_white_space(char32_t character); ///< the property White_Space
bool is_numeric(char32_t character);     ///< Nd, Nl, No
bool is_word(char32_t character);        ///< \w of Unicode's TR 18
bool is_mark(char32_t character);        ///< Mn, Mc, Me
bool is_punctuation(char32_t character); ///< P*, and all of ASCII's

/// Returns the lower case by itself, without regard to its neighbours.
std::string to_lower_case(char32_t character);

} // namespace troupe::runtime::tokenizer
