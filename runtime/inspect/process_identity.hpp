// SPDX-License-Identifier: Apache-2.0
//
// Who a process is, so that another one can tell later whether it still lives:
// number, start time, PID namespace and boot. Linux: reads /proc.
#pragma once

#include "runtime/inspect/card_reader.hpp"

#include <cstdint>
#include <string>

namespace troupe::runtime::inspect {

struct process_identity {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0, pid_namespace = 0;
  std::string boot_id, host;
};

/// Returns the caller's own.
process_identity identify_self();

/// Returns what has become of a process, as seen from the caller.
process_life find_life(const process_identity& who);

/// Nanoseconds of CLOCK_REALTIME (Unix time) and CLOCK_MONOTONIC.
std::int64_t realtime_now_ns();
std::int64_t mono_now_ns();

} // namespace troupe::runtime::inspect
