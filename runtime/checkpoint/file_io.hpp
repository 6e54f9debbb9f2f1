// SPDX-License-Identifier: Apache-2.0
//
// Files by descriptor: mapped for reading, written durably. Every refusal of
// the operating system becomes io_failed with action, path and errno's text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace troupe::runtime::checkpoint {

/// Throws io_failed for errno: "cannot ACTION PATH: No space left on device".
[[noreturn]] void throw_errno(std::string_view action,
                              const std::filesystem::path& path);

/// A descriptor that is closed at the end of its scope.
class file_handle {
public:
  /// open(2), always close-on-exec. Errors: io_failed.
  file_handle(const std::filesystem::path& path, int flags, int mode = 0644);
  file_handle(file_handle&& other) noexcept : fd_(other.release()) {}
  file_handle& operator=(file_handle&&) = delete;
  ~file_handle();

  [[nodiscard]] int fd() const { return fd_; }
  int release();

private:
  int fd_ = -1;
};

/// A whole file mapped privately; empty files map to nothing. The memory is
/// writable: a page that is written to is copied and the file stays as it is
/// (weights are trained where they were mapped).
class mapped_file {
public:
  /// Errors: io_failed.
  explicit mapped_file(const std::filesystem::path& path);
  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&&) = delete;
  ~mapped_file();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::string_view text() const;

private:
  std::span<const std::byte> bytes_;
};

/// Writes all bytes, however often the kernel returns early. Errors: io_failed.
void write_all(const file_handle& to, std::span<const std::byte> bytes,
               const std::filesystem::path& path);

/// fsync of a file or a directory. Errors: io_failed.
void sync_to_disk(const std::filesystem::path& path);

/// Writes `text` to a neighbour, fsync, rename, fsync of the folder: `path`
/// holds the old content or the new one at any time. Errors: io_failed.
void replace_file(const std::filesystem::path& path, std::string_view text);

} // namespace troupe::runtime::checkpoint
