// SPDX-License-Identifier: Apache-2.0
//
// The tokens of a vocabulary, both ways: id to spelling, spelling to id. Two
// flat arrays, because 50,000 small allocations would be felt at start-up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::tokenizer {

class token_table {
public:
  enum class added : std::uint8_t {
    fresh,
    known,         ///< the very same id and spelling
    id_taken,      ///< another spelling has the id
    spelling_taken ///< another id has the spelling
  };

  /// `num_tokens` and `num_bytes` are for reserving.
  token_table(std::size_t num_tokens, std::size_t num_bytes);

  added add(std::string_view spelling, std::int32_t id);

  [[nodiscard]] std::optional<std::int32_t>
  find(std::string_view spelling) const;

  /// Returns the spelling; nothing for an id that is none.
  [[nodiscard]] std::optional<std::string_view> spelling(std::int32_t id) const;

  [[nodiscard]] std::size_t num_tokens() const { return num_tokens_; }

  /// Returns one past the largest id.
  [[nodiscard]] std::int32_t end_id() const {
    return static_cast<std::int32_t>(entries_.size());
  }

private:
  struct entry {
    std::uint32_t offset = 0;
    std::int32_t length = -1; ///< -1: no token has this id
  };

  [[nodiscard]] std::size_t slot_of(std::string_view spelling) const;
  void grow();

  std::string text_;
  std::vector<entry> entries_;      ///< by id
  std::vector<std::int32_t> slots_; ///< ids by hash, -1: free
  std::size_t num_tokens_ = 0;
};

} // namespace troupe::runtime::tokenizer
