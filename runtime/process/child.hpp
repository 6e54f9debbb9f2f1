// SPDX-License-Identifier: Apache-2.0
//
// One child process: fork and exec with a parent-death signal, a process group
// of its own, /dev/null as standard input and no descriptor but those named.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::runtime::process {

/// `source` here becomes `target` there; target >= 3.
struct fd_mapping {
  int source = -1;
  int target = -1;
};

enum class isolation : std::uint8_t {
  process_group, ///< setpgid
  session,       ///< setsid: a process group without a terminal
};

struct child_options {
  std::string name; ///< for messages, as in "rank/0"
  std::vector<std::string> argv;
  std::vector<std::string> environment; ///< KEY=VALUE, over the parent's
  std::vector<fd_mapping> fds;
  /// Standard output and error, appended; empty: the parent's own.
  std::filesystem::path log_file;
  /// Sent when the thread that forked ends.
  int parent_death_signal = 9;
  isolation alone = isolation::process_group;
};

/// Starts a child and returns its pid once exec has succeeded. The child's
/// signal mask is empty and its dispositions are the defaults. Errors:
/// io_failed with program and errno text.
pid_t start_child(const child_options& options);

/// How a process ended, from a wait status.
struct exit_status {
  int code = 0;   ///< exit code, when signal is 0
  int signal = 0; ///< the signal that killed it, or 0

  [[nodiscard]] bool is_clean() const { return code == 0 && signal == 0; }

  /// Returns the code as a shell shows it: 128 + signal.
  [[nodiscard]] int shell_code() const { return signal ? 128 + signal : code; }
};

exit_status decode_wait_status(int wait_status);

/// Returns "exit code 1" or "signal 9 (SIGKILL)".
std::string to_string(const exit_status& status);

/// Returns "was killed by signal 9 (SIGKILL)" or "ended with exit code 1".
std::string how_it_ended(const exit_status& status);

} // namespace troupe::runtime::process
