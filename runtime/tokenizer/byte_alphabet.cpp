// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/byte_alphabet.hpp"

#include <array>
#include <cstdint>

namespace troupe::runtime::tokenizer {

namespace {

constexpr std::size_t num_characters = 256 + 68; ///< 68 are not printable

constexpr bool is_printable(std::size_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac)
         || byte >= 0xae;
}

struct alphabet {
  std::array<std::uint16_t, 256> character_of{};
  std::array<std::int16_t, num_characters> byte_of{}; ///< -1: none
};

constexpr auto letters = [] {
  alphabet out;
  out.byte_of.fill(-1);
  std::size_t next = 256;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto character = is_printable(byte) ? byte : next++;
    out.character_of[byte] = static_cast<std::uint16_t>(character);
    out.byte_of[character] = static_cast<std::int16_t>(byte);
  }
  return out;
}();

} // namespace

std::string spell_bytes(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const auto byte : bytes) {
    const unsigned character =
      letters.character_of[static_cast<unsigned char>(byte)];
    if (character < 0x80) {
      out += static_cast<char>(character);
    } else { // all below U+0800: two bytes
      out += static_cast<char>(0xc0 | (character >> 6));
      out += static_cast<char>(0x80 | (character & 0x3f));
    }
  }
  return out;
}

std::optional<std::string> unspell_bytes(std::string_view spelling) {
  std::string out;
  out.reserve(spelling.size());
  for (std::size_t at = 0; at < spelling.size(); ++at) {
    unsigned character = static_cast<unsigned char>(spelling[at]);
    if (character >= 0x80) {
      if (character >= 0xe0 || at + 1 == spelling.size())
        return std::nullopt;
      character = ((character & 0x1f) << 6)
                  | (static_cast<unsigned char>(spelling[++at]) & 0x3fU);
    }
    if (character >= num_characters || letters.byte_of[character] < 0)
      return std::nullopt;
    out += static_cast<char>(letters.byte_of[character]);
  }
  return out;
}

} // namespace troupe::runtime::tokenizer
