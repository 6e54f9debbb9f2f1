// SPDX-License-Identifier: Apache-2.0
//
// Finds added tokens in text: left to right, the longest one at each place.
#pragma once

#include "runtime/tokenizer/tokenizer_spec.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe::runtime::tokenizer {

/// A stretch of text, or a token found in it.
struct text_piece {
  std::string_view text;
  std::optional<std::int32_t> token_id;
};

/// Immutable. Thread: any.
class added_token_finder {
public:
  explicit added_token_finder(std::vector<added_token> tokens);

  /// Cuts well-formed UTF-8; pieces are not empty, and point into `text`.
  [[nodiscard]] std::vector<text_piece> split(std::string_view text) const;

private:
  [[nodiscard]] const added_token* longest_at(std::string_view rest) const;

  std::vector<added_token> tokens_; ///< by first byte, then longest first
  std::array<std::uint32_t, 257> begins_{}; ///< of each first byte
};

} // namespace troupe::runtime::tokenizer
