// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/file_io.hpp"

#include "protocols/failure.hpp"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe::runtime::checkpoint {

void throw_errno(std::string_view action, const std::filesystem::path& path) {
  const auto reason = std::generic_category().message(errno);
  throw protocols::failure{protocols::errc::io_failed,
                           "cannot " + std::string{action} + " " + path.string()
                             + ": " + reason};
}

file_handle::file_handle(const std::filesystem::path& path, int flags, int mode)
  : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {
  if (fd_ < 0)
    throw_errno("open", path);
}

file_handle::~file_handle() {
  if (fd_ >= 0)
    ::close(fd_);
}

int file_handle::release() {
  return std::exchange(fd_, -1);
}

mapped_file::mapped_file(const std::filesystem::path& path) {
  const file_handle file{path, O_RDONLY};
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0)
    throw_errno("read", path);
  if (S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    throw_errno("read", path);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0)
    return;
  void* start =
    ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.fd(), 0);
  if (start == MAP_FAILED)
    throw_errno("map", path);
  bytes_ = {static_cast<const std::byte*>(start), size};
}

mapped_file::mapped_file(mapped_file&& other) noexcept
  : bytes_(std::exchange(other.bytes_, {})) {}

mapped_file::~mapped_file() {
  if (!bytes_.empty())
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::string_view mapped_file::text() const {
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

void write_all(const file_handle& to, std::span<const std::byte> bytes,
               const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const auto done = ::write(to.fd(), bytes.data(), bytes.size());
    if (done < 0) {
      if (errno == EINTR)
        continue;
      throw_errno("write", path);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void sync_to_disk(const std::filesystem::path& path) {
  const file_handle file{path, O_RDONLY};
  if (::fsync(file.fd()) != 0)
    throw_errno("fsync", path);
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  auto neighbour = path;
  neighbour += ".new";
  {
    const file_handle file{neighbour, O_WRONLY | O_CREAT | O_TRUNC};
    write_all(file, std::as_bytes(std::span{text}), neighbour);
    if (::fsync(file.fd()) != 0)
      throw_errno("fsync", neighbour);
  }
  if (::rename(neighbour.c_str(), path.c_str()) != 0)
    throw_errno("rename", neighbour);
  sync_to_disk(path.has_parent_path() ? path.parent_path() : ".");
}

} // namespace troupe::runtime::checkpoint
