// SPDX-License-Identifier: Apache-2.0
#include "actors/memory_ledger.hpp"

#include "protocols/failure.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace troupe::actors {

std::uint64_t memory_ledger::reserve(const std::string& holder,
                                     const std::string& purpose,
                                     std::uint64_t bytes,
                                     std::uint64_t replaces) {
  const auto old = grants_.find(replaces);
  const auto held = held_ - (old == grants_.end() ? 0 : old->second.bytes);
  const auto left = budget_ - std::min(budget_, held);
  if (bytes > left) {
    std::string holders;
    for (const auto& [id, g] : grants_)
      if (id != replaces)
        holders += "\n  " + g.holder + " holds " + std::to_string(g.bytes)
                   + " bytes for " + g.purpose;
    throw protocols::failure(protocols::errc::memory_refused,
                             holder + " asks for " + std::to_string(bytes)
                               + " bytes for " + purpose + "; of "
                               + std::to_string(budget_) + " bytes "
                               + std::to_string(left) + " are left" + holders);
  }
  give_up(replaces);
  held_ += bytes;
  grants_.emplace(next_id_, grant{holder, purpose, bytes});
  return next_id_++;
}

std::uint64_t memory_ledger::give_up(std::uint64_t grant_id) {
  const auto found = grants_.find(grant_id);
  if (found == grants_.end())
    return 0;
  const auto bytes = found->second.bytes;
  held_ -= bytes;
  grants_.erase(found);
  return bytes;
}

std::uint64_t memory_limit_bytes() {
  const auto machine = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES))
                       * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  std::ifstream in{"/sys/fs/cgroup/memory.max"};
  std::uint64_t limit = 0;
  return in >> limit ? std::min(limit, machine) : machine;
}

} // namespace troupe::actors
