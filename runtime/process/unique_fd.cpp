// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/unique_fd.hpp"

#include "protocols/failure.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace troupe::runtime::process {

namespace {

fd_pair make_pair_of(int type) {
  int fds[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0)
    throw protocols::failure{protocols::errc::io_failed,
                             std::string{"cannot make a socket pair: "}
                               + std::strerror(errno)};
  return {unique_fd{fds[0]}, unique_fd{fds[1]}};
}

} // namespace

fd_pair make_stream_pair() {
  return make_pair_of(SOCK_STREAM);
}

fd_pair make_packet_pair() {
  return make_pair_of(SOCK_SEQPACKET);
}

unique_fd duplicate(int fd) {
  int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0)
    throw protocols::failure{protocols::errc::io_failed,
                             "cannot duplicate descriptor " + std::to_string(fd)
                               + ": " + std::strerror(errno)};
  return unique_fd{copy};
}

} // namespace troupe::runtime::process
