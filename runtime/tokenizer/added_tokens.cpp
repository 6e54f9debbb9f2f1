// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/added_tokens.hpp"

#include "runtime/tokenizer/utf8.hpp"

#include <algorithm>

namespace troupe::runtime::tokenizer {

namespace {

unsigned char to_byte(char letter) {
  return static_cast<unsigned char>(letter);
}

bool is_single_word(std::string_view text, std::size_t begin, std::size_t end) {
  auto after = text.substr(end);
  return (begin == 0 || !is_word(last_character(text.substr(0, begin))))
         && (after.empty() || !is_word(next_character(after)));
}

} // namespace

added_token_finder::added_token_finder(std::vector<added_token> tokens)
  : tokens_(std::move(tokens)) {
  nodes_.emplace_back(); // so that 0 can say none
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    if (!tokens_[i].text.empty())
      insert(tokens_[i].text, static_cast<std::int32_t>(i));
}

void added_token_finder::insert(std::string_view text, std::int32_t token) {
  const auto add_node = [&] {
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  };
  auto& first = first_[to_byte(text[0])];
  if (first == 0)
    first = add_node();
  auto at = first;
  for (const auto letter : text.substr(1)) {
    auto& next = nodes_[at].next;
    const auto place = std::ranges::lower_bound(
      next, to_byte(letter), {}, [](const auto& edge) { return edge.first; });
    if (place != next.end() && place->first == to_byte(letter)) {
      at = place->second;
      continue;
    }
    const auto index = place - next.begin();
    const auto made = add_node(); // moves `next`
    auto& grown = nodes_[at].next;
    grown.insert(grown.begin() + index, {to_byte(letter), made});
    at = made;
  }
  nodes_[at].token = token;
}

const added_token* added_token_finder::longest_at(std::string_view rest) const {
  auto at = first_[to_byte(rest[0])];
  auto longest = none;
  for (std::size_t length = 1; at != 0; ++length) {
    const auto& [next, token] = nodes_[at];
    if (token != none)
      longest = token;
    if (length == rest.size())
      break;
    const auto place =
      std::ranges::lower_bound(next, to_byte(rest[length]), {},
                               [](const auto& edge) { return edge.first; });
    at = place != next.end() && place->first == to_byte(rest[length])
           ? place->second
           : 0;
  }
  return longest == none ? nullptr
                         : &tokens_[static_cast<std::size_t>(longest)];
}

std::vector<text_piece> added_token_finder::split(std::string_view text) const {
  std::vector<text_piece> out;
  std::size_t end_before = 0; // of the last token, with its white space
  for (std::size_t at = 0; at < text.size();) {
    if (first_[to_byte(text[at])] == 0) {
      ++at;
      continue;
    }
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
      out.push_back({{end_before, begin}, {}});
    out.push_back({{begin, end}, found->id});
    end_before = end;
  }
  if (end_before < text.size())
    out.push_back({{end_before, text.size()}, {}});
  return out;
}

} // namespace troupe::runtime::tokenizer
