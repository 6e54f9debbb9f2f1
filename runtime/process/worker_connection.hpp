// SPDX-License-Identifier: Apache-2.0
//
// Messages to and from one worker: a length and a text over a stream socket,
// with a deadline on every wait.
#pragma once

#include "runtime/process/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace troupe::runtime::process {

class worker_connection {
public:
  using clock = std::chrono::steady_clock;

  enum class outcome : std::uint8_t { done, late, closed, stopped };

  /// Waits end with `stopped` as soon as stop_fd is readable.
  worker_connection(unique_fd stream_socket, int stop_fd)
    : socket_(std::move(stream_socket)), stop_fd_(stop_fd) {}

  outcome send(const std::string& text, clock::time_point deadline);

  /// A length above 64 MiB counts as closed: no reward takes so much.
  outcome receive(std::string& text, clock::time_point deadline);

private:
  outcome wait(short events, clock::time_point deadline) const;
  outcome receive_bytes(char* to, std::size_t size, clock::time_point deadline);

  unique_fd socket_;
  int stop_fd_;
};

} // namespace troupe::runtime::process
