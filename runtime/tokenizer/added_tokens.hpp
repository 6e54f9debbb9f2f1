// SPDX-License-Identifier: Apache-2.0
//
// Finds added tokens in text: left to right, the longest one at each place.
#pragma once

#include "runtime/tokenizer/text_span.hpp"
#include "runtime/tokenizer/tokenizer_spec.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::runtime::tokenizer {

/// A stretch of text, or a token found in it.
struct text_piece {
  text_span bytes; ///< not empty
  std::optional<std::int32_t> token_id;
};

/// Immutable. Thread: any.
class added_token_finder {
public:
  explicit added_token_finder(std::vector<added_token> tokens);

  /// Cuts well-formed UTF-8 without gaps, but for white space that tokens
  /// strip: that is theirs.
  [[nodiscard]] std::vector<text_piece> split(std::string_view text) const;

  [[nodiscard]] const std::vector<added_token>& tokens() const {
    return tokens_;
  }

private:
  static constexpr std::int32_t none = -1;
  struct node {
    std::vector<std::pair<unsigned char, std::uint32_t>> next;
    std::int32_t token = none; ///< index of the one that ends here
  };

  void insert(std::string_view text, std::int32_t token);
  [[nodiscard]] const added_token* longest_at(std::string_view rest) const;

  std::vector<added_token> tokens_;
  std::vector<node> nodes_; ///< of a trie; the first characters' are below
  std::array<std::uint32_t, 256> first_{}; ///< by byte; 0: no token begins so
};

} // namespace troupe::runtime::tokenizer
