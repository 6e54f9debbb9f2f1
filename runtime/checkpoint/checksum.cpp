// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/checksum.hpp"

#include "runtime/checkpoint/file_io.hpp"

#include <xxhash.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace troupe::runtime::checkpoint {

namespace {

constexpr std::uint32_t polynomial = 0x82f63b78U; ///< Castagnoli, reflected

/// tables[k][b]: the checksum of byte b followed by k zero bytes.
constexpr auto tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> out{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    auto crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? polynomial : 0U);
    out[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      out[k][byte] = (out[k - 1][byte] >> 8) ^ out[0][out[k - 1][byte] & 0xff];
  return out;
}();

std::uint64_t load_64(const std::byte* from) {
  std::uint64_t out = 0;
  std::memcpy(&out, from, sizeof out);
  return out;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t
crc32c_sse42(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint64_t crc = ~before;
  const auto* at = bytes.data();
  auto left = bytes.size();
  for (; left >= 8; left -= 8, at += 8)
    crc = __builtin_ia32_crc32di(crc, load_64(at));
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at)
    narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(*at));
  return ~narrow;
}
#endif

} // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes,
                              std::uint32_t before) {
  auto crc = ~before;
  const auto* at = bytes.data();
  auto left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const auto word = load_64(at) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k)
      crc ^= tables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; left > 0; --left, ++at)
    crc =
      (crc >> 8) ^ tables[0][(crc ^ static_cast<std::uint32_t>(*at)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
  if (has_sse42)
    return crc32c_sse42(bytes, before);
#endif
  return crc32c_portable(bytes, before);
}

std::uint64_t xxh3_64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t xxh3_64_of_file(const std::filesystem::path& file) {
  // Not mapped: pages of a mapped file count as memory of the process.
  const file_handle from{file, O_RDONLY};
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state{
    XXH3_createState(), XXH3_freeState};
  XXH3_64bits_reset(state.get());
  std::vector<std::byte> block(1 << 20);
  for (;;) {
    const auto count = ::read(from.fd(), block.data(), block.size());
    if (count == 0)
      return XXH3_64bits_digest(state.get());
    if (count > 0)
      XXH3_64bits_update(state.get(), block.data(),
                         static_cast<std::size_t>(count));
    else if (errno != EINTR)
      throw_errno("read", file);
  }
}

} // namespace troupe::runtime::checkpoint
