// SPDX-License-Identifier: Apache-2.0
//
// Identities that cross process boundaries. Plain values, ordered, printable.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace troupe::protocols {

/// The n samples of one prompt. Never a slot, batch, rank or time, so that the
/// random numbers of a token do not depend on them (DESIGN section 7).
struct group_id {
  std::uint32_t data_pass = 0; ///< how often the data was begun again
  std::uint32_t position = 0;  ///< row within the pass, after shuffling
  std::uint32_t attempt = 0;   ///< 0, or more after a group was dropped

  auto operator<=>(const group_id&) const = default;
};

/// Returns "pass/position/attempt".
std::string to_string(const group_id& id);

/// Completed optimizer steps in the weights.
using policy_version = std::uint64_t;

/// Number of a membership view.
using job_epoch = std::uint32_t;

} // namespace troupe::protocols

template <>
struct std::hash<troupe::protocols::group_id> {
  std::size_t operator()(const troupe::protocols::group_id& id) const noexcept {
    // Fibonacci hashing of the three parts (Knuth, TAOCP 3, section 6.4).
    std::uint64_t h = (std::uint64_t{id.data_pass} << 32) | id.position;
    h = (h ^ (std::uint64_t{id.attempt} << 17)) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(h ^ (h >> 29));
  }
};
