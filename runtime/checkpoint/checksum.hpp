// SPDX-License-Identifier: Apache-2.0
//
// Checksums: CRC32C for frames, XXH3-64 for tensors and files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace troupe::runtime::checkpoint {

/// Returns the CRC32C (Castagnoli) of `bytes`; `before` is the checksum of
/// what came before them. With SSE4.2 where the CPU has it.
std::uint32_t crc32c(std::span<const std::byte> bytes,
                     std::uint32_t before = 0);

/// The same without special instructions; the tests hold the two together.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes,
                              std::uint32_t before = 0);

/// Returns XXH3-64 with seed 0.
std::uint64_t xxh3_64(std::span<const std::byte> bytes);

/// Returns XXH3-64 of a file's content. Blocks on the disk.
/// Errors: io_failed (path, errno).
std::uint64_t xxh3_64_of_file(const std::filesystem::path& file);

} // namespace troupe::runtime::checkpoint
