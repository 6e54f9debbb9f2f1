// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/stop_signals.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

namespace troupe::runtime::process {

namespace {

/// Ends as if nobody had looked at the signal.
void end_by(int number) {
  ::signal(number, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, number);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(number);
}

} // namespace

std::optional<pid_t> take_launcher_pid() {
  const char* number = std::getenv(launcher_pid_variable);
  if (!number)
    return std::nullopt;
  const pid_t launcher = std::atoi(number);
  ::unsetenv(launcher_pid_variable);
  return launcher;
}

void pass_on_stop_signals() {
  const auto launcher = take_launcher_pid();
  if (!launcher)
    return;
  sigset_t watched;
  ::sigemptyset(&watched);
  for (int number : {SIGTERM, SIGINT, SIGHUP})
    ::sigaddset(&watched, number);
  ::pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  std::thread{[watched, launcher = *launcher] {
    for (;;) {
      siginfo_t from{};
      const int number = ::sigwaitinfo(&watched, &from);
      if (number < 0)
        continue; // interrupted by a stop
      if (from.si_pid == launcher)
        end_by(number);
      else if (::getppid() == launcher) // else nobody is left to tell
        ::kill(launcher, SIGTERM);
    }
  }}.detach();
}

} // namespace troupe::runtime::process
