// SPDX-License-Identifier: Apache-2.0
//
// Packets between launcher and coordinator: small JSON texts over a Unix socket
// that keeps message bounds, with descriptors beside them.
#pragma once

#include "runtime/process/unique_fd.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace troupe::runtime::process {

/// Holds the number of the coordinator's socket.
constexpr const char* launcher_fd_variable = "TROUPE_LAUNCHER_FD";

constexpr std::size_t max_packet_bytes = 64u << 10;
constexpr std::size_t max_packet_fds = 16;

struct packet {
  std::string text;
  std::vector<unique_fd> fds; ///< closed on exec
};

enum class packet_status : std::uint8_t { done, would_block, closed };

/// Never blocks. The descriptors stay open here. Errors: message_too_large.
packet_status send_packet(int socket, const packet& p);

/// Never blocks. Errors: message_too_large when the packet was cut.
packet_status receive_packet(int socket, packet& p);

} // namespace troupe::runtime::process
