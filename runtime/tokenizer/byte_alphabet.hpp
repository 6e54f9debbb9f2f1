// SPDX-License-Identifier: Apache-2.0
//
// GPT-2's way of writing bytes as printable characters: tokenizer.json spells
// tokens in it, as in "\u0120the" for " the".
//
// Source: openai/gpt-2, src/encoder.py, bytes_to_unicode. Differs: nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe::runtime::tokenizer {

/// Returns the spelling of `bytes`.
std::string spell_bytes(std::string_view bytes);

/// Returns the bytes that `spelling` stands for; nothing if a character is
/// not of the alphabet.
std::optional<std::string> unspell_bytes(std::string_view spelling);

} // namespace troupe::runtime::tokenizer
