// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/child.hpp"

#include "protocols/failure.hpp"
#include "runtime/process/unique_fd.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

extern char** environ;

namespace troupe::runtime::process {

namespace {

using protocols::errc;
using protocols::failure;

/// Everything that the child needs, made before the fork: between fork and exec
/// only async-signal-safe calls are allowed.
struct plan {
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::vector<fd_mapping> fds; ///< sources above every target
  std::vector<unique_fd> held; ///< the sources
  unique_fd null_input;
  unique_fd log;
  unique_fd status_read;
  unique_fd status_write;
  int death_signal = 0;
  isolation alone = isolation::process_group;
  pid_t parent = 0;
};

[[noreturn]] void refuse(const child_options& options, std::string_view step) {
  int error = errno;
  throw failure{errc::io_failed, "cannot start process '" + options.name
                                   + "': " + std::string{step} + ": "
                                   + std::strerror(error)};
}

std::string_view key_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

std::vector<char*> merge_environment(const std::vector<std::string>& over) {
  std::vector<char*> out;
  for (char** entry = environ; *entry; ++entry) {
    auto same_key = [&](const std::string& o) {
      return key_of(o) == key_of(*entry);
    };
    if (std::none_of(over.begin(), over.end(), same_key))
      out.push_back(*entry);
  }
  for (const auto& entry : over)
    out.push_back(const_cast<char*>(entry.c_str()));
  out.push_back(nullptr);
  return out;
}

/// Moves a descriptor out of the way of all targets.
unique_fd move_above(const child_options& options, int fd, int floor) {
  int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, floor);
  if (copy < 0)
    refuse(options, "descriptor " + std::to_string(fd));
  return unique_fd{copy};
}

void open_files(const child_options& options, plan& out) {
  int floor = 3;
  for (const auto& map : options.fds) {
    if (map.target < 3)
      throw failure{errc::invalid_request,
                    "cannot start process '" + options.name
                      + "': descriptor target " + std::to_string(map.target)
                      + " is not 3 or more"};
    floor = std::max(floor, map.target + 1);
  }
  for (const auto& map : options.fds) {
    out.held.push_back(move_above(options, map.source, floor));
    out.fds.push_back({out.held.back().get(), map.target});
  }
  unique_fd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (!null)
    refuse(options, "/dev/null");
  out.null_input = move_above(options, null.get(), floor);
  if (!options.log_file.empty()) {
    std::error_code ignored; // open() says it better
    std::filesystem::create_directories(options.log_file.parent_path(),
                                        ignored);
    unique_fd log{::open(options.log_file.c_str(),
                         O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
    if (!log)
      refuse(options, options.log_file.string());
    out.log = move_above(options, log.get(), floor);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    refuse(options, "pipe");
  out.status_read = unique_fd{ends[0]};
  unique_fd low{ends[1]};
  out.status_write = move_above(options, low.get(), floor);
}

/// Runs in the child; ends by exec or by writing errno to the status pipe.
[[noreturn]] void become(const plan& p) {
  auto give_up = [&] {
    int error = errno;
    [[maybe_unused]] auto n =
      ::write(p.status_write.get(), &error, sizeof(error));
    ::_exit(127);
  };
  if (::prctl(PR_SET_PDEATHSIG, p.death_signal) != 0)
    give_up();
  // The parent may have died before the line above: then nobody signals.
  if (::getppid() != p.parent)
    ::_exit(127);
  int grouped = p.alone == isolation::session ? ::setsid() : ::setpgid(0, 0);
  if (grouped < 0)
    give_up();
  for (int number = 1; number < NSIG; ++number)
    ::signal(number, SIG_DFL); // fails for SIGKILL and SIGSTOP, harmlessly
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Whatever this process inherited by accident ends here.
  if (::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) != 0)
    give_up();
  if (::dup2(p.null_input.get(), 0) < 0)
    give_up();
  if (p.log && (::dup2(p.log.get(), 1) < 0 || ::dup2(p.log.get(), 2) < 0))
    give_up();
  for (const auto& map : p.fds)
    if (::dup2(map.source, map.target) < 0)
      give_up();
  // A path is executed as it is: execvpe gives what is no program to a shell.
  if (std::strchr(p.argv[0], '/') != nullptr)
    ::execve(p.argv[0], p.argv.data(), p.envp.data());
  else
    ::execvpe(p.argv[0], p.argv.data(), p.envp.data());
  give_up();
  ::_exit(127);
}

} // namespace

pid_t start_child(const child_options& options) {
  if (options.argv.empty())
    throw failure{errc::invalid_request,
                  "cannot start process '" + options.name + "': empty argv"};
  plan p;
  for (const auto& argument : options.argv)
    p.argv.push_back(const_cast<char*>(argument.c_str()));
  p.argv.push_back(nullptr);
  p.envp = merge_environment(options.environment);
  p.death_signal = options.parent_death_signal;
  p.alone = options.alone;
  p.parent = ::getpid();
  open_files(options, p);
  pid_t pid = ::fork();
  if (pid < 0)
    refuse(options, "fork");
  if (pid == 0)
    become(p);
  p.status_write.close();
  int error = 0;
  ssize_t n;
  do {
    n = ::read(p.status_read.get(), &error, sizeof(error));
  } while (n < 0 && errno == EINTR);
  if (n == sizeof(error)) {
    ::waitpid(pid, nullptr, 0);
    errno = error;
    refuse(options, options.argv[0]);
  }
  return pid;
}

exit_status decode_wait_status(int wait_status) {
  if (WIFSIGNALED(wait_status))
    return {0, WTERMSIG(wait_status)};
  return {WEXITSTATUS(wait_status), 0};
}

std::string to_string(const exit_status& status) {
  if (status.signal == 0)
    return "exit code " + std::to_string(status.code);
  auto out = "signal " + std::to_string(status.signal);
  if (const char* name = ::sigabbrev_np(status.signal))
    out += std::string{" (SIG"} + name + ")";
  return out;
}

std::string how_it_ended(const exit_status& status) {
  return (status.signal != 0 ? "was killed by " : "ended with ")
         + to_string(status);
}

} // namespace troupe::runtime::process
