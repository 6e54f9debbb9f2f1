// SPDX-License-Identifier: Apache-2.0
//
// A piece of memory from mmap, given back at the end.
#pragma once

#include <cstddef>
#include <utility>

#include <sys/mman.h>

namespace troupe::runtime::inspect {

class mapping {
public:
  mapping() = default;
  mapping(void* address, std::size_t size) : address_(address), size_(size) {}
  mapping(mapping&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(other.size_) {}
  mapping& operator=(mapping&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~mapping() {
    if (address_ != nullptr)
      ::munmap(address_, size_);
  }

  [[nodiscard]] std::byte* data() const noexcept {
    return static_cast<std::byte*>(address_);
  }
  explicit operator bool() const noexcept { return address_ != nullptr; }

private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

/// Maps `size` bytes of an open file, or anonymous memory for -1; empty with
/// errno set when the system refuses.
inline mapping map_shared(int descriptor, std::size_t size, int protection) {
  const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* at = ::mmap(nullptr, size, protection, flags, descriptor, 0);
  return at == MAP_FAILED ? mapping{} : mapping{at, size};
}

} // namespace troupe::runtime::inspect
