// SPDX-License-Identifier: Apache-2.0
//
// What a broken contract says: TROUPE_ASSERT ends the process, so the code that
// breaks it runs in a fork.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace troupe::tests {

/// Returns what `f` wrote to standard error before it aborted; "" if it
/// returned, or ended otherwise.
template <class F>
std::string text_of_death(F f) {
  int fds[2];
  if (::pipe(fds) != 0)
    return {};
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGABRT, SIG_DFL); // not the test framework's
    ::dup2(fds[1], STDERR_FILENO);
    ::close(fds[0]);
    f();
    ::_exit(0);
  }
  ::close(fds[1]);
  std::string text;
  char block[512];
  for (ssize_t n; (n = ::read(fds[0], block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(n));
  ::close(fds[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : "";
}

} // namespace troupe::tests
