// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/worker_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace troupe::runtime::process {

namespace {

constexpr std::size_t max_answer_bytes = 64u << 20;

bool is_transient(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

} // namespace

worker_connection::outcome
worker_connection::wait(short events, clock::time_point deadline) const {
  for (;;) {
    auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
    if (left.count() <= 0)
      return outcome::late;
    pollfd fds[] = {{socket_.get(), events, 0}, {stop_fd_, POLLIN, 0}};
    int ready = ::poll(fds, 2, static_cast<int>(left.count()));
    if (fds[1].revents)
      return outcome::stopped;
    if (ready > 0)
      return outcome::done;
  }
}

worker_connection::outcome worker_connection::send(const std::string& text,
                                                   clock::time_point deadline) {
  auto size = static_cast<std::uint32_t>(text.size());
  std::string data;
  data.reserve(text.size() + 4);
  for (int shift = 0; shift < 32; shift += 8)
    data.push_back(static_cast<char>((size >> shift) & 0xff));
  data += text;
  for (std::size_t sent = 0; sent < data.size();) {
    auto n = ::send(socket_.get(), data.data() + sent, data.size() - sent,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
      continue;
    }
    if (!is_transient(errno))
      return outcome::closed;
    if (auto waited = wait(POLLOUT, deadline); waited != outcome::done)
      return waited;
  }
  return outcome::done;
}

worker_connection::outcome
worker_connection::receive_bytes(char* to, std::size_t size,
                                 clock::time_point deadline) {
  for (std::size_t got = 0; got < size;) {
    if (auto waited = wait(POLLIN, deadline); waited != outcome::done)
      return waited;
    auto n = ::recv(socket_.get(), to + got, size - got, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && !is_transient(errno)))
      return outcome::closed;
    if (n > 0)
      got += static_cast<std::size_t>(n);
  }
  return outcome::done;
}

worker_connection::outcome
worker_connection::receive(std::string& text, clock::time_point deadline) {
  std::array<unsigned char, 4> prefix{};
  if (auto got =
        receive_bytes(reinterpret_cast<char*>(prefix.data()), 4, deadline);
      got != outcome::done)
    return got;
  std::size_t size = prefix[0] | std::size_t{prefix[1]} << 8
                     | std::size_t{prefix[2]} << 16
                     | std::size_t{prefix[3]} << 24;
  if (size > max_answer_bytes)
    return outcome::closed;
  text.resize(size);
  return receive_bytes(text.data(), size, deadline);
}

} // namespace troupe::runtime::process
