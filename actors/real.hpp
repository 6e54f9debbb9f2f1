// SPDX-License-Identifier: Apache-2.0
//
// Numbers in and out of messages: CAF 0.17.6 corrupts floating point on the
// wire, so they travel as bit patterns (OPERATIONS 0.2).
#pragma once

#include "protocols/messages.hpp"

#include <bit>
#include <cstdint>

namespace troupe::actors {

constexpr protocols::real to_real(double value) {
  return {std::bit_cast<std::uint64_t>(value)};
}

constexpr double value_of(protocols::real number) {
  return std::bit_cast<double>(number.bits);
}

} // namespace troupe::actors
