// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/frame.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/checksum.hpp"

#include <bit>
#include <cstring>
#include <string>

namespace troupe::runtime::transport {

namespace {

static_assert(std::endian::native == std::endian::little,
              "fields are copied as they are");

constexpr std::uint32_t magic = 0x31465254; // "TRF1"
constexpr std::uint16_t version = 1;

// Offsets of the fields.
constexpr std::size_t at_magic = 0;
constexpr std::size_t at_version = 4;
constexpr std::size_t at_type = 6;
constexpr std::size_t at_kind = 8;
constexpr std::size_t at_length = 12;
constexpr std::size_t at_run = 16;
constexpr std::size_t at_transfer = 24;
constexpr std::size_t at_total = 32;
constexpr std::size_t at_argument = 40;
constexpr std::size_t at_chunk = 48;
constexpr std::size_t at_payload_crc = 52;
constexpr std::size_t at_reserved = 56;
constexpr std::size_t at_header_crc = 60;

template <class T>
void put(encoded_frame_header& out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof(value));
}

template <class T>
T get(std::span<const std::byte, frame_header_bytes> in, std::size_t at) {
  T value;
  std::memcpy(&value, in.data() + at, sizeof(value));
  return value;
}

void require(std::uint64_t value, std::uint64_t low, std::uint64_t high,
             const char* field) {
  if (value >= low && value <= high)
    return;
  auto allowed = low == high
                   ? std::to_string(low)
                   : std::to_string(low) + " to " + std::to_string(high);
  throw protocols::failure{protocols::errc::frame_corrupt,
                           std::string{"frame header: "} + field + " is "
                             + std::to_string(value) + ", allowed: " + allowed};
}

} // namespace

encoded_frame_header encode(const frame_header& header) {
  encoded_frame_header out{};
  put(out, at_magic, magic);
  put(out, at_version, version);
  put(out, at_type, static_cast<std::uint16_t>(header.type));
  put(out, at_kind, header.kind);
  put(out, at_length, header.length);
  put(out, at_run, header.run_hash);
  put(out, at_transfer, header.transfer_id);
  put(out, at_total, header.total);
  put(out, at_argument, header.argument);
  put(out, at_chunk, header.chunk_index);
  put(out, at_payload_crc, header.payload_crc);
  put(out, at_header_crc,
      checkpoint::crc32c(std::span{out}.first<at_header_crc>()));
  return out;
}

frame_header
decode_frame_header(std::span<const std::byte, frame_header_bytes> bytes) {
  require(get<std::uint32_t>(bytes, at_magic), magic, magic, "magic");
  auto crc = checkpoint::crc32c(bytes.first<at_header_crc>());
  require(get<std::uint32_t>(bytes, at_header_crc), crc, crc, "checksum");
  require(get<std::uint16_t>(bytes, at_version), version, version, "version");
  require(get<std::uint32_t>(bytes, at_reserved), 0, 0, "reserved");
  auto type = get<std::uint16_t>(bytes, at_type);
  require(type, static_cast<std::uint64_t>(frame_type::request),
          static_cast<std::uint64_t>(frame_type::cancel), "type");
  frame_header out;
  out.type = static_cast<frame_type>(type);
  out.kind = get<std::uint32_t>(bytes, at_kind);
  out.length = get<std::uint32_t>(bytes, at_length);
  require(out.length, 0, max_chunk_bytes, "length");
  out.run_hash = get<std::uint64_t>(bytes, at_run);
  out.transfer_id = get<std::uint64_t>(bytes, at_transfer);
  out.total = get<std::uint64_t>(bytes, at_total);
  out.argument = get<std::uint64_t>(bytes, at_argument);
  out.chunk_index = get<std::uint32_t>(bytes, at_chunk);
  out.payload_crc = get<std::uint32_t>(bytes, at_payload_crc);
  return out;
}

std::uint64_t hash_run_id(std::string_view run_id) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char c : run_id)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

} // namespace troupe::runtime::transport
