// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's side of the launcher: asks for processes, hears of exits
// and signals, tells the final status.
#pragma once

#include "protocols/failure.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::runtime::process {

/// What the launcher makes of a process's death.
enum class process_kind : std::uint8_t {
  rank,   ///< an unclean end is a loss: the job must end, or is ended
  worker, ///< below a keeper; its loss costs its samples only
};

struct spawn_request {
  std::string name; ///< unique among the living, as in "rank/0"
  process_kind kind = process_kind::rank;
  std::vector<std::string> argv;
  std::vector<std::string> environment; ///< KEY=VALUE, over the launcher's
  std::vector<fd_mapping> fds;          ///< sources may be closed afterwards
};

struct spawn_result {
  pid_t pid = 0;
  std::optional<protocols::failure> error; ///< then there is no process
};

struct process_exited {
  std::string name;
  pid_t pid = 0;
  exit_status status;
  bool requested = false; ///< after kill() of that process
};

/// Called on the client's thread; must not block.
struct launcher_events {
  std::function<void(const process_exited&)> on_exit;
  /// count: 1 drain and save, 2 abort.
  std::function<void(int signal, int count)> on_signal;
  std::function<void()> on_launcher_lost;
};

class launcher_client {
public:
  /// Returns the socket that the launcher passed on, nothing when this process
  /// was not started by one. Takes it: a second call returns nothing.
  static std::optional<unique_fd> from_environment();

  launcher_client(unique_fd socket, launcher_events events);

  /// Sends what is queued (at most one second), then ends the thread.
  ~launcher_client();

  /// Logs go to logs/NAME.log below the directory, "/" in names becoming "-".
  /// To be called before the first spawn.
  void configure(const std::filesystem::path& run_directory,
                 double deadline_scale);

  /// Starts a process. `done` is called once, on the client's thread, at the
  /// deadline at the latest. Errors, in the result: io_failed (errno text),
  /// invalid_request, deadline_exceeded, peer_gone.
  void spawn(const spawn_request& request, std::chrono::milliseconds deadline,
             std::function<void(spawn_result)> done);

  /// As above, but blocks and throws. Not from within a callback.
  pid_t spawn_and_wait(const spawn_request& request,
                       std::chrono::milliseconds deadline);

  /// Signals a process's group. Its exit then counts as requested.
  void kill(const std::string& name, int signal);

  /// Tells the final status, which becomes the launcher's exit code, also if
  /// this process fails right afterwards. The coordinator then ends; exits of
  /// ranks no longer count as losses. `cause` is printed when the code is not
  /// 0.
  void report(int code, const std::string& cause);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace troupe::runtime::process
