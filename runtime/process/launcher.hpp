// SPDX-License-Identifier: Apache-2.0
//
// The launcher: the root of a host's process tree. No threads, no CAF. It
// starts the coordinator, then whatever the coordinator asks for, forwards and
// counts signals, reaps, ends the tree and owns the exit code.
//
// Not here: what a drain or a recovery is. The coordinator decides; the
// launcher acts alone only when the coordinator is gone or late.
#pragma once

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

/// Multiplied by the deadline scale that the coordinator tells.
struct launcher_deadlines {
  /// From a rank's loss to the end of the tree, unless the coordinator ended
  /// by itself.
  std::chrono::milliseconds after_loss{3'000};
  /// From the second signal to the end of the tree.
  std::chrono::milliseconds after_abort{10'000};
  /// From SIGTERM to SIGKILL when the launcher ends the tree.
  std::chrono::milliseconds grace{1'000};
  /// From SIGKILL until the launcher stops waiting for the killed.
  std::chrono::milliseconds reap{5'000};
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
