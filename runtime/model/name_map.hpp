// SPDX-License-Identifier: Apache-2.0
//
// Names of modules and parameters, for diagnostics only.
// Invariants: W1 entries never own an object. W2 the key is its identity, not
// its value or address. W3 identities are never reused, so a dead object's name
// is never given to another. W4 an unknown object is called "unknown".
#pragma once

#include "runtime/shard/object_id.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

namespace troupe::runtime::model {

/// What a test may break on purpose, to see that it would notice.
enum class name_map_mutation : std::uint8_t {
  none,
  owns_objects,       ///< breaks W1
  clear_does_nothing, ///< breaks W5
};

class name_map {
public:
  explicit name_map(name_map_mutation mutation = name_map_mutation::none)
    : mutation_(mutation) {}

  /// Forgets what has died, now and then.
  void insert(shard::object_id id, std::shared_ptr<const void> object,
              std::string name);

  /// Returns "unknown" for an object that has no name here or is dead.
  [[nodiscard]] std::string name_of(shard::object_id id) const;

  /// Returns how many named objects are alive.
  [[nodiscard]] std::size_t size() const;

  void clear();

private:
  struct entry {
    std::weak_ptr<const void> object;
    std::shared_ptr<const void> owned; ///< of the mutation
    std::string name;
  };
  name_map_mutation mutation_;
  std::size_t forget_at_ = 64; ///< entries that make insert look for dead ones
  std::unordered_map<shard::object_id, entry> entries_;
};

} // namespace troupe::runtime::model
