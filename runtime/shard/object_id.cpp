// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/object_id.hpp"

#include <atomic>

namespace troupe::runtime::shard {

object_id next_object_id() {
  static std::atomic<std::uint64_t> last{0};
  return object_id{last.fetch_add(1, std::memory_order_relaxed) + 1};
}

} // namespace troupe::runtime::shard
