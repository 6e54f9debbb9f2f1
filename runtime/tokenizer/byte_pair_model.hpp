// SPDX-License-Identifier: Apache-2.0
//
// Byte-pair encoding of one word: start with its bytes, then merge the
// neighbours whose merge comes first in the file, until none is left.
//
// Source: Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words
// with Subword Units", section 3.2, https://arxiv.org/abs/1508.07909, on bytes
// as GPT-2 does. Differs: nothing.
#pragma once

#include "runtime/tokenizer/token_table.hpp"
#include "runtime/tokenizer/tokenizer_spec.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe::runtime::tokenizer {

/// Merges by their two ids, in open addressing.
class merge_table {
public:
  struct merge {
    std::int32_t rank = -1; ///< -1: there is none
    std::int32_t merged_id = -1;
  };

  explicit merge_table(std::size_t num_merges);

  /// Of two merges of the same pair, the last one stays, as in `tokenizers`.
  void add(std::int32_t left, std::int32_t right, merge what);

  [[nodiscard]] merge find(std::int32_t left, std::int32_t right) const;

private:
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const;

  std::vector<std::uint64_t> keys_;
  std::vector<merge> merges_;
};

/// Immutable but for its cache of words. Thread: any; a thread that finds the
/// cache in use goes without.
class byte_pair_model {
public:
  /// `vocabulary` must live as long as the model.
  /// Errors: tokenizer_unreadable (a merge of what is no token);
  /// tokenizer_unsupported (fused unknown tokens).
  byte_pair_model(const bpe_spec& spec, const token_table& vocabulary,
                  const std::filesystem::path& file);

  /// Appends the ids of each word.
  void encode(const std::vector<std::string_view>& words,
              std::vector<std::int32_t>& out) const;

private:
  void merge_word(std::string_view word, std::vector<std::int32_t>& out) const;
  void encode_cached(std::string_view word,
                     std::vector<std::int32_t>& out) const;

  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct cache {
    std::mutex mutex;
    std::unordered_map<std::string, std::vector<std::int32_t>, text_hash,
                       std::equal_to<>>
      words;
  };

  const token_table& vocabulary_;
  bool ignores_merges_;
  merge_table merges_;
  std::array<std::int32_t, 256> byte_ids_{}; ///< -1: left out
  std::unique_ptr<cache> cache_ = std::make_unique<cache>();
};

} // namespace troupe::runtime::tokenizer
