// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor with one owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace troupe::runtime::process {

class unique_fd {
public:
  unique_fd() = default;

  explicit unique_fd(int fd) : fd_(fd) {}

  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  unique_fd& operator=(unique_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  ~unique_fd() { close(); }

  /// Returns the number, -1 when nothing is held.
  [[nodiscard]] int get() const noexcept { return fd_; }

  /// Gives the descriptor away.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

  void close() noexcept {
    if (fd_ >= 0)
      ::close(std::exchange(fd_, -1));
  }

  explicit operator bool() const noexcept { return fd_ >= 0; }

private:
  int fd_ = -1;
};

/// Two ends of a connection.
struct fd_pair {
  unique_fd ours;
  unique_fd theirs;
};

/// Returns a connected pair of Unix stream sockets, closed on exec. Errors:
/// io_failed.
fd_pair make_stream_pair();

/// Returns a connected pair of Unix sockets that keep message bounds, closed
/// on exec. Errors: io_failed.
fd_pair make_packet_pair();

/// Returns a duplicate that is closed on exec. Errors: io_failed.
unique_fd duplicate(int fd);

} // namespace troupe::runtime::process
