// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/token_table.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace troupe::runtime::tokenizer {

token_table::token_table(std::size_t num_tokens, std::size_t num_bytes)
  : slots_(std::bit_ceil(2 * num_tokens + 16), -1) {
  text_.reserve(num_bytes);
  entries_.reserve(num_tokens);
}

std::size_t token_table::slot_of(std::string_view sought) const {
  const auto mask = slots_.size() - 1;
  auto slot = std::hash<std::string_view>{}(sought)&mask;
  while (slots_[slot] >= 0 && spelling(slots_[slot]) != sought)
    slot = (slot + 1) & mask;
  return slot;
}

token_table::added token_table::add(std::string_view spelling_in,
                                    std::int32_t id) {
  const auto slot = slot_of(spelling_in);
  if (slots_[slot] >= 0)
    return slots_[slot] == id ? added::known : added::spelling_taken;
  if (spelling(id))
    return added::id_taken;
  const auto index = static_cast<std::size_t>(id);
  if (index >= entries_.size())
    entries_.resize(index + 1);
  entries_[index] = {static_cast<std::uint32_t>(text_.size()),
                     static_cast<std::int32_t>(spelling_in.size())};
  text_ += spelling_in;
  slots_[slot] = id;
  if (2 * ++num_tokens_ > slots_.size())
    grow();
  return added::fresh;
}

void token_table::grow() {
  const auto before =
    std::exchange(slots_, std::vector<std::int32_t>(2 * slots_.size(), -1));
  for (const auto id : before)
    if (id >= 0)
      slots_[slot_of(*spelling(id))] = id;
}

std::optional<std::int32_t>
token_table::find(std::string_view spelling_in) const {
  const auto id = slots_[slot_of(spelling_in)];
  return id < 0 ? std::nullopt : std::optional{id};
}

std::optional<std::string_view> token_table::spelling(std::int32_t id) const {
  if (id < 0 || id >= end_id())
    return std::nullopt;
  const auto& found = entries_[static_cast<std::size_t>(id)];
  if (found.length < 0)
    return std::nullopt;
  return std::string_view{text_}.substr(found.offset,
                                        static_cast<std::size_t>(found.length));
}

} // namespace troupe::runtime::tokenizer
