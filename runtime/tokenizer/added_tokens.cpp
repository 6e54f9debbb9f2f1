// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/added_tokens.hpp"

#include "runtime/tokenizer/utf8.hpp"

#include <algorithm>
#include <utility>

namespace troupe::runtime::tokenizer {

namespace {

unsigned char first_byte(std::string_view text) {
  return static_cast<unsigned char>(text.front());
}

/// Returns where the white space at the end of `text` begins.
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

bool is_single_word(std::string_view text, std::size_t begin, std::size_t end) {
  auto after = text.substr(end);
  return (begin == 0 || !is_word(last_character(text.substr(0, begin))))
         && (after.empty() || !is_word(next_character(after)));
}

} // namespace

added_token_finder::added_token_finder(std::vector<added_token> tokens)
  : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const auto& token) { return token.text.empty(); });
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const auto& a, const auto& b) {
                     return std::pair{first_byte(a.text), b.text.size()}
                            < std::pair{first_byte(b.text), a.text.size()};
                   });
  for (const auto& token : tokens_)
    for (std::size_t byte = first_byte(token.text) + 1U; byte < 257; ++byte)
      ++begins_[byte];
}

const added_token* added_token_finder::longest_at(std::string_view rest) const {
  const auto byte = first_byte(rest);
  for (auto i = begins_[byte]; i < begins_[byte + 1U]; ++i)
    if (rest.starts_with(tokens_[i].text))
      return &tokens_[i];
  return nullptr;
}

std::vector<text_piece> added_token_finder::split(std::string_view text) const {
  std::vector<text_piece> out;
  std::size_t end_before = 0; // of the last token, with its white space
  for (std::size_t at = 0; at < text.size();) {
    const auto* found = longest_at(text.substr(at));
    if (found == nullptr) {
      ++at;
      continue;
    }
    auto begin = at;
    auto end = at += found->text.size();
    if (found->is_single_word && !is_single_word(text, begin, end))
      continue;
    if (found->strips_left)
      begin =
        std::max(begin_of_space_before(text.substr(0, begin)), end_before);
    if (found->strips_right)
      end += length_of_space_after(text.substr(end));
    if (end_before < begin)
      out.push_back({text.substr(end_before, begin - end_before), {}});
    out.push_back({text.substr(begin, end - begin), found->id});
    end_before = end;
  }
  if (end_before < text.size())
    out.push_back({text.substr(end_before), {}});
  return out;
}

} // namespace troupe::runtime::tokenizer
