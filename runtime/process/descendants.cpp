// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/descendants.hpp"

#include "protocols/failure.hpp"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace troupe::runtime::process {

namespace {

using clock = std::chrono::steady_clock;

/// Returns the parent of a live process; nothing for zombies and the vanished.
std::optional<pid_t> read_parent(const char* pid_text) {
  std::ifstream in{std::string{"/proc/"} + pid_text + "/stat"};
  std::string stat{std::istreambuf_iterator<char>{in}, {}};
  // "pid (name) state ppid ...": the name may hold blanks and parentheses.
  auto end = stat.rfind(')');
  if (end == std::string::npos || end + 4 >= stat.size() || stat[end + 2] == 'Z'
      || stat[end + 2] == 'X')
    return std::nullopt;
  pid_t parent = 0;
  const char* first = stat.data() + end + 4;
  auto [rest, error] =
    std::from_chars(first, stat.data() + stat.size(), parent);
  if (error != std::errc{})
    return std::nullopt;
  return parent;
}

std::multimap<pid_t, pid_t> read_process_table() {
  std::multimap<pid_t, pid_t> children_of;
  std::unique_ptr<DIR, int (*)(DIR*)> dir{::opendir("/proc"), ::closedir};
  if (!dir)
    return children_of;
  while (const auto* entry = ::readdir(dir.get())) {
    pid_t pid = 0;
    const char* name = entry->d_name;
    auto [rest, error] = std::from_chars(name, name + std::strlen(name), pid);
    if (error != std::errc{} || *rest != '\0')
      continue;
    if (auto parent = read_parent(name))
      children_of.emplace(*parent, pid);
  }
  return children_of;
}

/// Reaps what has ended; true when no child is left.
bool reap_all() {
  for (;;) {
    pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid == 0)
      return false;
    if (pid < 0 && errno == ECHILD)
      return true;
  }
}

void await_sigchld(clock::duration limit) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(limit).count();
  timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  ::sigtimedwait(&set, nullptr, &time);
}

} // namespace

void become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    throw protocols::failure{protocols::errc::io_failed,
                             std::string{"cannot become a sub-reaper: "}
                               + std::strerror(errno)};
}

std::vector<pid_t> list_children() {
  std::vector<pid_t> out;
  auto table = read_process_table();
  auto [first, last] = table.equal_range(::getpid());
  for (; first != last; ++first)
    out.push_back(first->second);
  return out;
}

std::vector<pid_t> list_descendants() {
  auto table = read_process_table();
  std::vector<pid_t> out{::getpid()};
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto [first, last] = table.equal_range(out[i]);
    for (; first != last; ++first)
      out.push_back(first->second);
  }
  out.erase(out.begin());
  return out;
}

bool kill_descendants(std::chrono::milliseconds deadline) {
  auto end = clock::now() + deadline;
  // A short tick: a process that is adopted while it lives sends no SIGCHLD.
  constexpr auto tick = std::chrono::milliseconds{20};
  while (!reap_all()) {
    // Stopped first, so that none of them forks while we kill the others.
    auto victims = list_descendants();
    for (pid_t pid : victims)
      ::kill(pid, SIGSTOP);
    for (pid_t pid : victims)
      ::kill(pid, SIGKILL);
    if (reap_all())
      return true;
    auto now = clock::now();
    if (now >= end)
      return false;
    await_sigchld(std::min<clock::duration>(tick, end - now));
  }
  return true;
}

} // namespace troupe::runtime::process
