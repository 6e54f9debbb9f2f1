// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/byte_pair_model.hpp"

#include "runtime/tokenizer/byte_alphabet.hpp"

#include <algorithm>
#include <bit>
#include <queue>
#include <string>

namespace troupe::runtime::tokenizer {

namespace {

constexpr std::uint64_t no_key = ~std::uint64_t{0};
constexpr std::size_t max_cached_words = 1 << 16;
constexpr std::size_t max_cached_bytes = 64; ///< of one word

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32
         | static_cast<std::uint32_t>(right);
}

/// A piece of the word; merged into its left neighbour, it has id -1.
struct symbol {
  std::int32_t id;
  std::int32_t before, after; ///< indices, -1: none
};

struct candidate {
  std::int32_t rank;
  std::int32_t left; ///< index of its left symbol
  std::int32_t merged_id;

  /// For a queue whose top is the lowest rank, the leftmost of equals.
  bool operator<(const candidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

} // namespace

merge_table::merge_table(std::size_t num_merges)
  : keys_(std::bit_ceil(2 * num_merges + 1), no_key), merges_(keys_.size()) {}

std::size_t merge_table::slot_of(std::uint64_t key) const {
  const auto mask = keys_.size() - 1;
  auto slot = (key * 0x9e3779b97f4a7c15U >> 20) & mask;
  while (keys_[slot] != key && keys_[slot] != no_key)
    slot = (slot + 1) & mask;
  return slot;
}

void merge_table::add(std::int32_t left, std::int32_t right, merge what) {
  const auto slot = slot_of(key_of(left, right));
  keys_[slot] = key_of(left, right);
  merges_[slot] = what;
}

merge_table::merge merge_table::find(std::int32_t left,
                                     std::int32_t right) const {
  return merges_[slot_of(key_of(left, right))];
}

byte_pair_model::byte_pair_model(const bpe_spec& spec,
                                 const token_table& vocabulary,
                                 const std::filesystem::path& file)
  : vocabulary_(vocabulary), ignores_merges_(spec.ignores_merges),
    merges_(spec.merges.size()) {
  const auto id_of = [&](std::string_view token, std::int64_t rank) {
    const auto id = vocabulary.find(token);
    if (!id)
      refuse_file(file, "model.merges[" + std::to_string(rank) + "] needs "
                          + std::string{token}
                          + ", which is not in model.vocab");
    return *id;
  };
  std::int32_t rank = 0;
  std::string joined;
  for (const auto& [left, right] : spec.merges) {
    joined.assign(left).append(right);
    merges_.add(id_of(left, rank), id_of(right, rank),
                {rank, id_of(joined, rank)});
    ++rank;
  }
  const auto unk =
    spec.unk_token ? vocabulary.find(*spec.unk_token) : std::nullopt;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto letter = static_cast<char>(byte);
    const auto id = vocabulary.find(spell_bytes({&letter, 1}));
    if (!id && unk && spec.fuses_unk)
      refuse_component(file, "model.fuse_unk", "true",
                       "is false where a byte has no token");
    byte_ids_[byte] = id ? *id : unk.value_or(-1);
  }
}

void byte_pair_model::merge_word(std::string_view word,
                                 std::vector<std::int32_t>& out) const {
  std::vector<symbol> symbols;
  symbols.reserve(word.size());
  for (const auto letter : word) {
    const auto id = byte_ids_[static_cast<unsigned char>(letter)];
    const auto index = static_cast<std::int32_t>(symbols.size());
    if (id >= 0)
      symbols.push_back({id, index - 1, index + 1});
  }
  if (symbols.empty())
    return;
  symbols.back().after = -1;

  const auto at = [&](std::int32_t index) -> symbol& {
    return symbols[static_cast<std::size_t>(index)];
  };
  std::priority_queue<candidate> queue;
  const auto propose = [&](std::int32_t left) {
    if (left < 0 || at(left).after < 0)
      return;
    const auto found = merges_.find(at(left).id, at(at(left).after).id);
    if (found.rank >= 0)
      queue.push({found.rank, left, found.merged_id});
  };
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
    propose(static_cast<std::int32_t>(i));
  while (!queue.empty()) {
    const auto best = queue.top();
    queue.pop();
    auto& left = at(best.left);
    if (left.id < 0 || left.after < 0)
      continue;
    auto& right = at(left.after);
    // A neighbour may have changed since. `tokenizers` asks for the merged id
    // only, and so do we: a pair that makes the same token keeps the rank.
    if (merges_.find(left.id, right.id).merged_id != best.merged_id)
      continue;
    left.id = best.merged_id;
    left.after = right.after;
    right.id = -1;
    if (left.after >= 0)
      at(left.after).before = best.left;
    propose(left.before);
    propose(best.left);
  }
  for (std::int32_t i = 0; i >= 0; i = at(i).after)
    out.push_back(at(i).id);
}

void byte_pair_model::encode_cached(std::string_view word,
                                    std::vector<std::int32_t>& out) const {
  auto& known = cache_->words;
  if (const auto found = known.find(word); found != known.end()) {
    out.insert(out.end(), found->second.begin(), found->second.end());
    return;
  }
  const auto begin = static_cast<std::ptrdiff_t>(out.size());
  merge_word(word, out);
  if (word.size() <= max_cached_bytes && known.size() < max_cached_words)
    known.emplace(word,
                  std::vector<std::int32_t>(out.begin() + begin, out.end()));
}

void byte_pair_model::encode(const std::vector<std::string_view>& words,
                             std::vector<std::int32_t>& out) const {
  const std::unique_lock lock{cache_->mutex, std::try_to_lock};
  for (const auto word : words) {
    if (ignores_merges_)
      if (const auto whole = vocabulary_.find(spell_bytes(word))) {
        out.push_back(*whole);
        continue;
      }
    if (lock.owns_lock() && word.size() > 1)
      encode_cached(word, out);
    else
      merge_word(word, out);
  }
}

} // namespace troupe::runtime::tokenizer
