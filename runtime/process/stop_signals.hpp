// SPDX-License-Identifier: Apache-2.0
//
// Signals that ask for an end, in a process below the launcher. A scheduler or
// systemd sends them to every process of a job: what somebody else sends is
// the launcher's to count, so that it drains the job once; what the launcher
// sends ends the process.
#pragma once

#include <sys/types.h>

#include <optional>

namespace troupe::runtime::process {

/// Holds the launcher's pid in all that it starts.
constexpr const char* launcher_pid_variable = "TROUPE_LAUNCHER_PID";

/// Returns the pid of the launcher that started this process, nothing when none
/// did. Takes it: what is started from here does not see it.
std::optional<pid_t> take_launcher_pid();

/// From now on SIGTERM, SIGINT and SIGHUP, from anybody but the launcher, are
/// passed on to the launcher, as SIGTERM; from the launcher they end this
/// process, as ever. Does nothing when no launcher started this process.
/// Thread: the main one, before there is another.
void pass_on_stop_signals();

} // namespace troupe::runtime::process
