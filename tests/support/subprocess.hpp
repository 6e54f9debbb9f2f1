// SPDX-License-Identifier: Apache-2.0
//
// A program under test: its standard output is a pipe, its standard error a
// text, and all that it starts can be found by a mark in the environment.
// Every wait has a deadline; none is a sleep.
#pragma once

#include "runtime/process/unique_fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::tests {

/// Returns the live processes whose environment has the text.
std::vector<pid_t> find_marked(const std::string& mark);

/// True once the process has ended (not necessarily reaped).
bool await_end(pid_t pid, std::chrono::milliseconds deadline);

/// A directory that goes with the object.
class temporary_directory {
public:
  temporary_directory();
  ~temporary_directory();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

/// Returns a file's text, empty when there is none.
std::string read_text(const std::filesystem::path& file);

class subprocess {
public:
  explicit subprocess(std::vector<std::string> argv,
                      std::vector<std::string> environment = {});

  /// Kills what is left of the tree.
  ~subprocess();

  [[nodiscard]] pid_t pid() const { return pid_; }

  void signal(int number) const;

  /// Returns the next line of standard output, nothing at its end or after the
  /// deadline.
  std::optional<std::string>
  read_line(std::chrono::milliseconds deadline = std::chrono::seconds{20});

  /// Returns the exit code as a shell shows it, nothing after the deadline.
  std::optional<int>
  wait(std::chrono::milliseconds deadline = std::chrono::seconds{20});

  /// Returns standard error so far.
  [[nodiscard]] std::string errors() const;

  /// Returns the processes of the tree that are alive.
  [[nodiscard]] std::vector<pid_t> survivors() const;

  /// True once at most so many of the tree are alive.
  [[nodiscard]] bool await_survivors(std::size_t count,
                                     std::chrono::milliseconds deadline) const;

private:
  std::string mark_;
  temporary_directory directory_;
  runtime::process::unique_fd output_;
  std::string unread_;
  pid_t pid_ = 0;
  std::optional<int> code_;
};

} // namespace troupe::tests
