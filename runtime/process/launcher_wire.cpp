// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/launcher_wire.hpp"

#include "protocols/failure.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace troupe::runtime::process {

namespace {

using protocols::errc;
using protocols::failure;

constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(int) * max_packet_fds);

packet_status status_of_errno() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR
           ? packet_status::would_block
           : packet_status::closed;
}

} // namespace

packet_status send_packet(int socket, const packet& p) {
  if (p.text.size() > max_packet_bytes || p.fds.size() > max_packet_fds)
    throw failure{
      errc::message_too_large,
      "a request to the launcher has " + std::to_string(p.text.size())
        + " bytes and " + std::to_string(p.fds.size())
        + " descriptors; allowed are " + std::to_string(max_packet_bytes)
        + " and " + std::to_string(max_packet_fds)};
  iovec part{const_cast<char*>(p.text.data()), p.text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, control_bytes> control{};
  if (!p.fds.empty()) {
    std::array<int, max_packet_fds> numbers{};
    std::transform(p.fds.begin(), p.fds.end(), numbers.begin(),
                   [](const unique_fd& fd) { return fd.get(); });
    auto size = sizeof(int) * p.fds.size();
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(size);
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), numbers.data(), size);
  }
  if (::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    return status_of_errno();
  return packet_status::done;
}

packet_status receive_packet(int socket, packet& p) {
  p.fds.clear();
  p.text.resize(max_packet_bytes);
  iovec part{p.text.data(), p.text.size()};
  alignas(cmsghdr) std::array<char, control_bytes> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  auto size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0)
    return status_of_errno();
  if (size == 0)
    return packet_status::closed;
  p.text.resize(static_cast<std::size_t>(size));
  for (auto* header = CMSG_FIRSTHDR(&message); header;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_type != SCM_RIGHTS)
      continue;
    std::array<int, max_packet_fds> numbers{};
    auto bytes = header->cmsg_len - CMSG_LEN(0);
    std::memcpy(numbers.data(), CMSG_DATA(header), bytes);
    for (std::size_t i = 0; i < bytes / sizeof(int); ++i)
      p.fds.emplace_back(numbers[i]);
  }
  if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
    throw failure{errc::message_too_large,
                  "a packet on the launcher's socket was cut at "
                    + std::to_string(max_packet_bytes) + " bytes"};
  return packet_status::done;
}

} // namespace troupe::runtime::process
