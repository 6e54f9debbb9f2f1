// SPDX-License-Identifier: Apache-2.0
//
// Who holds how much of a rank's memory, and for what. Grants are counted
// before memory is taken, so that a refusal can name the holders.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace troupe::actors {

class memory_ledger {
public:
  /// `budget_bytes`: what the rank may hold in all.
  explicit memory_ledger(std::uint64_t budget_bytes) : budget_(budget_bytes) {}

  /// `replaces`: a grant that ends with the new one; 0: none.
  /// Errors: memory_refused, naming what was asked, what is left, and every
  /// holder with its bytes; nothing has changed then.
  std::uint64_t reserve(const std::string& holder, const std::string& purpose,
                        std::uint64_t bytes, std::uint64_t replaces = 0);

  /// Returns the bytes given back; 0 for an unknown grant.
  std::uint64_t give_up(std::uint64_t grant_id);

  [[nodiscard]] std::uint64_t held_bytes() const { return held_; }

private:
  struct grant {
    std::string holder, purpose;
    std::uint64_t bytes = 0;
  };
  std::uint64_t budget_, held_ = 0, next_id_ = 1;
  std::map<std::uint64_t, grant> grants_;
};

/// Returns the machine's memory, or the control group's limit if it is lower.
std::uint64_t memory_limit_bytes();

} // namespace troupe::actors
