// SPDX-License-Identifier: Apache-2.0
//
// The launcher: the root of a host's process tree. No threads, no CAF. It
// starts the coordinator, then whatever the coordinator asks for, forwards and
// counts signals, reaps, ends the tree and owns the exit code.
//
// Not here: what a drain or a recovery is. The coordinator decides; the
// launcher acts alone only when the coordinator is gone or late.
#pragma once

#include "runtime/config/deadlines.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace troupe::runtime::process {

/// Exit codes of `troupe run` (DESIGN section 11).
enum exit_code : int {
  exit_done = 0,
  exit_failed = 1,
  exit_refused = 2,
  exit_forced = 3,
  exit_aborted = 130,
};

/// Rows of the table of deadlines; tests have shorter ones. Multiplied by the
/// deadline scale that the coordinator tells.
struct launcher_deadlines {
  /// From a rank's loss to the end of the tree, unless the coordinator ended
  /// by itself.
  std::chrono::milliseconds after_loss =
    config::duration_of(config::deadline::after_loss);
  /// From the second signal to the end of the tree.
  std::chrono::milliseconds after_abort =
    config::duration_of(config::deadline::after_abort);
  /// From the coordinator's report to its end.
  std::chrono::milliseconds after_report =
    config::duration_of(config::deadline::after_report);
  /// From SIGTERM to SIGKILL when the launcher ends the tree.
  std::chrono::milliseconds grace =
    config::duration_of(config::deadline::terminate);
  /// From SIGKILL until the launcher stops waiting for the killed.
  std::chrono::milliseconds reap = config::duration_of(config::deadline::reap);
};

struct launcher_options {
  std::vector<std::string> coordinator_argv;
  /// Returns what is said of a lost process, its name first. `what_happened`
  /// goes behind the name: "was killed by signal 9". Without it, or when it
  /// throws, that is all.
  std::function<std::string(const std::filesystem::path& run_directory,
                            const std::string& process,
                            const std::string& what_happened)>
    describe;
  /// Told how a process ended that did not end in order, before anything is
  /// printed: its own files can say so from then on.
  std::function<void(const std::filesystem::path& run_directory,
                     const std::string& process, const std::string& end)>
    record_end;
  launcher_deadlines deadlines;
};

/// Runs a job's processes on this host until none is left and returns the exit
/// code. Prints the cause of a bad end to standard error. The coordinator finds
/// its socket by launcher_client::from_environment.
/// Errors: io_failed when the coordinator cannot be started.
/// Thread: the only one of the process; blocks until the end. Signals stay
/// blocked afterwards.
int run_launcher(const launcher_options& options);

} // namespace troupe::runtime::process
