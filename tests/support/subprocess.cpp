// SPDX-License-Identifier: Apache-2.0
#include "tests/support/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

extern char** environ;

namespace troupe::tests {

namespace {

using runtime::process::unique_fd;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

unique_fd open_pidfd(pid_t pid) {
  // glibc 2.36 declares pidfd_open without C linkage.
  return unique_fd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
}

/// True when the descriptor became readable in time.
bool await_readable(int fd, clock::time_point end) {
  for (;;) {
    auto left = std::chrono::ceil<milliseconds>(end - clock::now()).count();
    pollfd one{fd, POLLIN, 0};
    int ready = ::poll(&one, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready > 0)
      return true;
    if (left <= 0)
      return false;
  }
}

bool is_zombie(pid_t pid) {
  auto stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  auto end = stat.rfind(')');
  return end == std::string::npos || stat.compare(end + 2, 1, "Z") == 0;
}

} // namespace

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::vector<pid_t> find_marked(const std::string& mark) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
    auto name = entry.path().filename().string();
    pid_t pid = 0;
    auto last = name.data() + name.size();
    if (auto [rest, error] = std::from_chars(name.data(), last, pid);
        error != std::errc{} || rest != last)
      continue;
    auto text = read_text(entry.path() / "environ");
    if (text.find(mark) != std::string::npos && !is_zombie(pid))
      out.push_back(pid);
  }
  return out;
}

bool await_end(pid_t pid, milliseconds deadline) {
  auto handle = open_pidfd(pid);
  return !handle || await_readable(handle.get(), clock::now() + deadline);
}

temporary_directory::temporary_directory() {
  auto name =
    (std::filesystem::temp_directory_path() / "troupe-XXXXXX").string();
  if (!::mkdtemp(name.data()))
    throw std::runtime_error{"mkdtemp failed: " + name};
  path_ = name;
}

temporary_directory::~temporary_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

subprocess::subprocess(std::vector<std::string> argv,
                       std::vector<std::string> environment) {
  static std::atomic<int> counter = 0;
  mark_ = "TROUPE_TEST_MARK=" + std::to_string(::getpid()) + "."
          + std::to_string(++counter) + ";";
  environment.push_back(mark_);
  std::vector<char*> arguments;
  for (auto& argument : argv)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (auto& variable : environment)
    variables.push_back(variable.data());
  for (char** entry = environ; *entry; ++entry)
    variables.push_back(*entry);
  variables.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error{"pipe2 failed"};
  output_ = unique_fd{ends[0]};
  unique_fd write_end{ends[1]};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
  ::posix_spawn_file_actions_addopen(&actions, 2,
                                     (directory_.path() / "errors").c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
  int error = ::posix_spawnp(&pid_, arguments[0], &actions, nullptr,
                             arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw std::runtime_error{"cannot start " + argv[0]};
}

subprocess::~subprocess() {
  for (pid_t left : survivors())
    ::kill(left, SIGKILL);
  wait();
}

void subprocess::signal(int number) const {
  ::kill(pid_, number);
}

std::optional<std::string> subprocess::read_line(milliseconds deadline) {
  auto end = clock::now() + deadline;
  for (;;) {
    if (auto at = unread_.find('\n'); at != std::string::npos) {
      auto line = unread_.substr(0, at);
      unread_.erase(0, at + 1);
      return line;
    }
    if (!await_readable(output_.get(), end))
      return std::nullopt;
    char buffer[4096];
    auto n = ::read(output_.get(), buffer, sizeof(buffer));
    if (n <= 0)
      return std::nullopt;
    unread_.append(buffer, static_cast<std::size_t>(n));
  }
}

std::optional<int> subprocess::wait(milliseconds deadline) {
  if (!code_ && await_end(pid_, deadline)) {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return code_;
}

std::string subprocess::errors() const {
  return read_text(directory_.path() / "errors");
}

std::vector<pid_t> subprocess::survivors() const {
  return find_marked(mark_);
}

bool subprocess::await_survivors(std::size_t count,
                                 milliseconds deadline) const {
  auto end = clock::now() + deadline;
  for (;;) {
    std::vector<unique_fd> handles;
    std::vector<pollfd> fds;
    for (pid_t pid : survivors()) {
      auto handle = open_pidfd(pid);
      if (!handle)
        continue; // gone meanwhile
      fds.push_back({handle.get(), POLLIN, 0});
      handles.push_back(std::move(handle));
    }
    auto left = std::chrono::ceil<milliseconds>(end - clock::now()).count();
    if (fds.size() <= count || left <= 0)
      return fds.size() <= count;
    ::poll(fds.data(), fds.size(), static_cast<int>(left));
  }
}

} // namespace troupe::tests
