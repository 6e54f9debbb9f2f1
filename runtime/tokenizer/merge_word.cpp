// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/merge_word.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace troupe::runtime::tokenizer {

namespace {

constexpr auto no_rank = merge_table::no_rank;
constexpr std::size_t max_short = 48; ///< symbols; a scan beats a heap below

/// Looks for the lowest rank anew after each merge.
void merge_short(const merge_table& merges, std::vector<token_piece>& symbols,
                 std::vector<token_piece>& out) {
  auto size = symbols.size();
  std::array<std::uint32_t, max_short> ranks; // of each with its right one
  const auto rank_at = [&](std::size_t i) {
    return static_cast<std::uint32_t>( // no_rank becomes the highest
      i + 1 < size ? merges.find(symbols[i].id, symbols[i + 1].id) : no_rank);
  };
  for (std::size_t i = 0; i < size; ++i)
    ranks[i] = rank_at(i);
  while (size > 1) {
    const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(size);
    const auto best = std::min_element(ranks.begin(), end);
    if (*best == static_cast<std::uint32_t>(no_rank))
      break;
    const auto at = static_cast<std::size_t>(best - ranks.begin());
    const auto next = static_cast<std::ptrdiff_t>(at) + 1;
    symbols[at] = {merges.merged_id(static_cast<std::int32_t>(*best)),
                   symbols[at].length + symbols[at + 1].length};
    std::copy(symbols.begin() + next + 1,
              symbols.begin() + static_cast<std::ptrdiff_t>(size),
              symbols.begin() + next);
    std::copy(best + 2, end, best + 1);
    --size;
    ranks[at] = rank_at(at);
    if (at > 0)
      ranks[at - 1] = rank_at(at - 1);
  }
  out.insert(out.end(), symbols.begin(),
             symbols.begin() + static_cast<std::ptrdiff_t>(size));
}

/// A symbol between its neighbours; merged into its left one, its rank and
/// that one's `after` tell.
struct link {
  std::uint32_t before, after; ///< indices; `no_index`: none
  std::int32_t rank;           ///< of the pair with the right neighbour
};
constexpr auto no_index = ~std::uint32_t{0};

/// Keeps pairs in a heap, by rank and then place. An entry whose pair has
/// changed since is known by its rank: a pair that grew makes a longer token.
void merge_long(const merge_table& merges, std::vector<token_piece>& symbols,
                std::vector<token_piece>& out) {
  const auto size = static_cast<std::uint32_t>(symbols.size());
  std::vector<link> links(size);
  std::vector<std::uint64_t> heap; // rank, then index
  heap.reserve(size);
  const auto entry_of = [](std::int32_t rank, std::uint32_t index) {
    return static_cast<std::uint64_t>(rank) << 32 | index;
  };
  for (std::uint32_t i = 0; i < size; ++i) {
    const bool is_last = i + 1 == size;
    const auto rank =
      is_last ? no_rank : merges.find(symbols[i].id, symbols[i + 1].id);
    links[i] = {i - 1, is_last ? no_index : i + 1, rank};
    if (rank != no_rank)
      heap.push_back(entry_of(rank, i));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>{});
  const auto propose = [&](std::uint32_t left) {
    auto& pair = links[left];
    pair.rank = pair.after == no_index
                  ? no_rank
                  : merges.find(symbols[left].id, symbols[pair.after].id);
    if (pair.rank == no_rank)
      return;
    heap.push_back(entry_of(pair.rank, left));
    std::push_heap(heap.begin(), heap.end(), std::greater<>{});
  };
  while (!heap.empty()) {
    const auto best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
    heap.pop_back();
    const auto rank = static_cast<std::int32_t>(best >> 32);
    const auto index = static_cast<std::uint32_t>(best);
    auto& left = links[index];
    if (left.rank != rank)
      continue;
    auto& right = links[left.after];
    symbols[index] = {merges.merged_id(rank),
                      symbols[index].length + symbols[left.after].length};
    right.rank = no_rank;
    left.after = right.after;
    if (left.after != no_index)
      links[left.after].before = index;
    if (left.before != no_index)
      propose(left.before);
    propose(index);
  }
  for (std::uint32_t i = 0; i != no_index; i = links[i].after)
    out.push_back(symbols[i]);
}

} // namespace

void merge_symbols(const merge_table& merges, std::vector<token_piece>& symbols,
                   std::vector<token_piece>& out) {
  if (symbols.empty())
    return;
  if (symbols.size() <= max_short)
    merge_short(merges, symbols, out);
  else
    merge_long(merges, symbols, out);
}

} // namespace troupe::runtime::tokenizer
