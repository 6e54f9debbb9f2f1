// SPDX-License-Identifier: Apache-2.0
//
// Byte-pair encoding of words. A word's symbols are its bytes, spelled as
// GPT-2 does, or its characters; a character without token becomes the tokens
// of its bytes ("<0xE2>"), the unknown token, or nothing, as the file says.
//
// Source: Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words
// with Subword Units", section 3.2, https://arxiv.org/abs/1508.07909, on bytes
// as GPT-2 does. Differs: nothing.
#pragma once

#include "runtime/tokenizer/merge_word.hpp"
#include "runtime/tokenizer/text_span.hpp"
#include "runtime/tokenizer/token_table.hpp"
#include "runtime/tokenizer/tokenizer_spec.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace troupe::runtime::tokenizer {

/// Immutable but for its cache of words. Thread: any; a thread that finds the
/// cache in use goes without.
class byte_pair_model {
public:
  enum class symbols : std::uint8_t { bytes, characters };

  /// A token and its bytes in the text.
  struct placed_token {
    std::int32_t id;
    text_span bytes;
  };

  /// `vocabulary` must live as long as the model.
  /// Errors: tokenizer_unreadable (a merge of what is no token, an unknown
  /// token that is none); tokenizer_unsupported (byte fallback from bytes).
  byte_pair_model(const bpe_spec& spec, symbols made_of,
                  const token_table& vocabulary,
                  const std::filesystem::path& file);

  /// Appends the ids of each word of `text`.
  void encode(std::string_view text, const std::vector<text_span>& words,
              std::vector<std::int32_t>& out) const;

  void encode(std::string_view text, const std::vector<text_span>& words,
              std::vector<placed_token>& out) const;

private:
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct cache {
    std::mutex mutex;
    std::unordered_map<std::string, std::vector<token_piece>, text_hash,
                       std::equal_to<>>
      words;
  };
  struct scratch;
  class symbol_writer;

  void read_merges(const bpe_spec& spec, const std::filesystem::path& file);
  void read_symbols(const bpe_spec& spec, const std::filesystem::path& file);
  void note_cut(const bpe_spec& spec, std::string_view left,
                std::string_view right);
  [[nodiscard]] bool drops_characters() const;
  [[nodiscard]] std::int32_t id_of_character(std::string_view text) const;
  [[nodiscard]] std::size_t end_of_part(std::string_view word) const;
  void merge(std::string_view word, scratch& used) const;
  void place_as_spelled(std::string_view word, std::size_t begin,
                        std::size_t num_tokens,
                        std::vector<placed_token>& out) const;
  template <class Take>
  void encode_each(std::string_view text, const std::vector<text_span>& words,
                   Take&& take) const;

  const token_table& vocabulary_;
  symbols made_of_;
  bool ignores_merges_;
  bool fuses_unk_;
  std::optional<std::int32_t> unk_id_;
  merge_table merges_;
  std::vector<std::int32_t> symbol_ids_; ///< by byte or character; -1: none
  /// Tokens of single bytes; empty without byte fallback. -1: none.
  std::vector<std::int32_t> byte_ids_;
  /// Whether a word of characters may be cut before a mark of a space, which
  /// keeps words short and the cache useful; and after what it may not.
  bool cuts_at_marks_ = false;
  std::unordered_set<char32_t> joined_to_mark_;
  std::unique_ptr<cache> cache_ = std::make_unique<cache>();
};

} // namespace troupe::runtime::tokenizer
