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

bool is_white_space(char32_t character); ///< the property White_Space
bool is_numeric(char32_t character);     ///< Nd, Nl, No
bool is_word(char32_t character);        ///< \w of Unicode's TR 18

} // namespace troupe::runtime::tokenizer
