// SPDX-License-Identifier: Apache-2.0
//
// The header of a frame on the wire, little-endian, 64 bytes. Payload follows.
// Both have a CRC32C: a bad header ends the connection (the next frame cannot
// be found), a bad payload ends its transfer only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::runtime::transport {

enum class frame_type : std::uint8_t {
  /// total: bytes expected at most; argument: deadline in ms; chunk_index:
  /// chunks that may be sent at first.
  request = 1,
  chunk = 2,  ///< total: bytes of the whole transfer
  credit = 3, ///< argument: further chunks that may be sent
  error = 4,  ///< argument: errc; payload: text
  cancel = 5, ///< the receiver has given the transfer up
};

struct frame_header {
  frame_type type = frame_type::request;
  std::uint32_t kind = 0; ///< which service is asked
  std::uint64_t run_hash = 0;
  std::uint64_t transfer_id = 0;
  std::uint32_t chunk_index = 0;
  std::uint32_t length = 0; ///< bytes of payload
  std::uint64_t total = 0;
  std::uint64_t argument = 0;
  std::uint32_t payload_crc = 0;

  bool operator==(const frame_header&) const = default;
};

constexpr std::size_t frame_header_bytes = 64;
constexpr std::uint32_t max_chunk_bytes = 4u << 20;

using encoded_frame_header = std::array<std::byte, frame_header_bytes>;

encoded_frame_header encode(const frame_header& header);

/// Errors: frame_corrupt with the field, its value and what is allowed.
frame_header
decode_frame_header(std::span<const std::byte, frame_header_bytes> bytes);

/// Returns the hash of a run id that headers carry (FNV-1a).
std::uint64_t hash_run_id(std::string_view run_id);

} // namespace troupe::runtime::transport
