// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/frame.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/checksum.hpp"

#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include "tests/support/doctest.hpp"

using namespace troupe;
using namespace troupe::runtime::transport;

namespace {

frame_header make_header() {
  return {frame_type::chunk, 7, 0x0123456789abcdef, 42, 3, 1000, 5000, 9,
          0xdeadbeef};
}

/// Returns the refusal's text.
std::string refusal(const encoded_frame_header& bytes) {
  try {
    decode_frame_header(bytes);
    return "";
  } catch (const protocols::failure& e) {
    CHECK(e.code() == protocols::errc::frame_corrupt);
    return e.what();
  }
}

/// Encodes, writes a field, and makes the checksum right again.
template <class T>
encoded_frame_header forge(std::size_t at, T value) {
  auto bytes = encode(make_header());
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  auto crc = runtime::checkpoint::crc32c(std::span{bytes}.first<60>());
  std::memcpy(bytes.data() + 60, &crc, sizeof(crc));
  return bytes;
}

} // namespace

TEST_SUITE("runtime.transport.frame") {

  TEST_CASE("a header comes back as it was") {
    CHECK(decode_frame_header(encode(make_header())) == make_header());
  }

  TEST_CASE("no bit of a header can flip unnoticed") {
    for (std::size_t byte = 0; byte < frame_header_bytes; ++byte)
      for (int bit = 0; bit < 8; ++bit) {
        auto bytes = encode(make_header());
        bytes[byte] ^= static_cast<std::byte>(1 << bit);
        CAPTURE(byte);
        CHECK_FALSE(refusal(bytes).empty());
      }
  }

  TEST_CASE("a field out of its range is refused by name, value and range") {
    CHECK(refusal(forge<std::uint16_t>(4, 2))
          == "frame header: version is 2, allowed: 1");
    CHECK(refusal(forge<std::uint16_t>(6, 9))
          == "frame header: type is 9, allowed: 1 to 5");
    CHECK(refusal(forge<std::uint32_t>(12, max_chunk_bytes + 1))
          == "frame header: length is 4194305, allowed: 0 to 4194304");
    CHECK(refusal(forge<std::uint32_t>(12, max_chunk_bytes)).empty());
    CHECK(refusal(forge<std::uint32_t>(56, 1))
          == "frame header: reserved is 1, allowed: 0");
  }

} // TEST_SUITE
