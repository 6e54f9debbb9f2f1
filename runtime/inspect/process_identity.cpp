// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/process_identity.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

namespace troupe::runtime::inspect {

namespace {

struct proc_stat {
  char state = 'X';
  std::uint64_t start_ticks = 0;
};

/// Fields 3 and 22 of proc(5); the name before them may hold anything but is
/// closed by the last parenthesis.
std::optional<proc_stat> read_stat(std::int64_t pid) {
  std::ifstream in{"/proc/" + std::to_string(pid) + "/stat"};
  std::string line;
  if (!std::getline(in, line))
    return std::nullopt;
  const auto close = line.rfind(')');
  if (close == std::string::npos)
    return std::nullopt;
  std::istringstream fields{line.substr(close + 1)};
  proc_stat result;
  fields >> result.state;
  std::string skipped;
  for (int i = 4; i < 22; ++i)
    fields >> skipped;
  fields >> result.start_ticks;
  return fields ? std::optional{result} : std::nullopt;
}

const std::string& own_boot_id() {
  static const auto id = [] {
    std::string line;
    std::ifstream in{"/proc/sys/kernel/random/boot_id"};
    std::getline(in, line);
    return line;
  }();
  return id;
}

std::uint64_t own_pid_namespace() {
  struct stat info {};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

} // namespace

process_identity identify_self() {
  process_identity self;
  self.pid = ::getpid();
  if (const auto stat = read_stat(self.pid))
    self.start_ticks = stat->start_ticks;
  self.pid_namespace = own_pid_namespace();
  self.boot_id = own_boot_id();
  char host[65] = {};
  if (::gethostname(host, sizeof host - 1) == 0)
    self.host = host;
  return self;
}

process_life find_life(const process_identity& who) {
  if (who.boot_id != own_boot_id() || who.pid_namespace != own_pid_namespace())
    return process_life::elsewhere;
  const auto stat = read_stat(who.pid);
  if (!stat || stat->start_ticks != who.start_ticks)
    return process_life::gone;
  switch (stat->state) {
  case 'Z':
  case 'X':
  case 'x': return process_life::gone;
  case 'T':
  case 't': return process_life::stopped;
  default: return process_life::running;
  }
}

std::int64_t realtime_now_ns() {
  return clock_ns(CLOCK_REALTIME);
}

std::int64_t mono_now_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

} // namespace troupe::runtime::inspect
