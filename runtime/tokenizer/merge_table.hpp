// SPDX-License-Identifier: Apache-2.0
//
// The merges of BPE by their two ids, in open addressing.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::runtime::tokenizer {

class merge_table {
public:
  static constexpr std::int32_t no_rank = -1;

  explicit merge_table(std::size_t num_merges)
    : entries_(std::bit_ceil(2 * num_merges + 1)) {}

  /// Ranks count up. Of two merges of one pair the last stays, as in
  /// `tokenizers`.
  void add(std::int32_t left, std::int32_t right, std::int32_t merged_id) {
    entries_[slot_of(key_of(left, right))] = {
      key_of(left, right), static_cast<std::int32_t>(merged_.size())};
    merged_.push_back(merged_id);
  }

  /// Returns the rank, or no_rank.
  [[nodiscard]] std::int32_t find(std::int32_t left, std::int32_t right) const {
    return entries_[slot_of(key_of(left, right))].rank;
  }

  [[nodiscard]] std::int32_t merged_id(std::int32_t rank) const {
    return merged_[static_cast<std::size_t>(rank)];
  }

private:
  struct entry {
    std::uint64_t key = ~std::uint64_t{0}; ///< none: no two ids make it
    std::int32_t rank = no_rank;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(left) << 32
           | static_cast<std::uint32_t>(right);
  }

  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
    const auto mask = entries_.size() - 1;
    auto slot = (key * 0x9e3779b97f4a7c15U >> 20) & mask;
    while (entries_[slot].key != key && entries_[slot].rank != no_rank)
      slot = (slot + 1) & mask;
    return slot;
  }

  std::vector<entry> entries_;
  std::vector<std::int32_t> merged_; ///< by rank
};

} // namespace troupe::runtime::tokenizer
