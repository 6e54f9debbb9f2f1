// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/name_map.hpp"

#include <algorithm>

namespace troupe::runtime::model {

void name_map::insert(shard::object_id id, std::shared_ptr<const void> object,
                      std::string name) {
  if (entries_.size() >= forget_at_) {
    std::erase_if(
      entries_, [](const auto& held) { return held.second.object.expired(); });
    forget_at_ = 64 + 2 * entries_.size();
  }
  entry added{object, nullptr, std::move(name)};
  if (mutation_ == name_map_mutation::owns_objects)
    added.owned = std::move(object);
  entries_.insert_or_assign(id, std::move(added));
}

std::string name_map::name_of(shard::object_id id) const {
  const auto held = entries_.find(id);
  if (held == entries_.end() || held->second.object.expired())
    return "unknown";
  return held->second.name;
}

std::size_t name_map::size() const {
  return static_cast<std::size_t>(
    std::count_if(entries_.begin(), entries_.end(), [](const auto& held) {
      return !held.second.object.expired();
    }));
}

void name_map::clear() {
  if (mutation_ != name_map_mutation::clear_does_nothing)
    entries_.clear();
}

} // namespace troupe::runtime::model
