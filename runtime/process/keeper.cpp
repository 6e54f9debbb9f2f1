// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/keeper.hpp"

#include "runtime/config/deadlines.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/descendants.hpp"
#include "runtime/process/stop_signals.hpp"
#include "runtime/process/unique_fd.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

namespace troupe::runtime::process {

namespace {

/// Reaps children; returns the worker's status once it has ended.
std::optional<exit_status> reap_worker(pid_t worker) {
  std::optional<exit_status> out;
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (pid == worker)
      out = decode_wait_status(status);
  return out;
}

/// Signals of a scheduler to every process ask the launcher, not us, to end.
bool is_for_us(const siginfo_t& from, std::optional<pid_t> launcher) {
  return !launcher || from.si_pid == *launcher || ::getppid() != *launcher;
}

} // namespace

int run_keeper(const std::vector<std::string>& argv, double deadline_scale) {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD})
    ::sigaddset(&watched, number);
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  const auto launcher = take_launcher_pid();
  become_subreaper();
  child_options options;
  options.name = "worker";
  options.argv = argv;
  options.alone = isolation::session;
  for (int fd : {worker_frame_fd, worker_script_fd})
    if (::fcntl(fd, F_GETFD) >= 0)
      options.fds.push_back({fd, fd});
  pid_t worker = start_child(options);
  // The worker alone keeps its socket open, so its end closes the socket.
  for (const auto& map : options.fds)
    unique_fd{map.source}.close();
  exit_status status{0, SIGTERM};
  for (;;) {
    siginfo_t from{};
    int number = ::sigwaitinfo(&watched, &from);
    if (number < 0)
      continue; // interrupted by a stop
    if (number != SIGCHLD) {
      if (is_for_us(from, launcher))
        break;
      continue;
    }
    if (auto ended = reap_worker(worker)) {
      status = *ended;
      break;
    }
  }
  // Those that the kernel holds longer, the launcher inherits.
  kill_descendants(
    config::duration_of(config::deadline::worker_end, deadline_scale));
  return status.shell_code();
}

} // namespace troupe::runtime::process
