// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/checksum.hpp"

#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <string>
#include <vector>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::checkpoint;

namespace {

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span{text});
}

std::string ramp(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    out[i] = static_cast<char>(i * 7 + i / 256);
  return out;
}

} // namespace

TEST_SUITE_BEGIN("runtime.checkpoint.checksum");

TEST_CASE("crc32c gives the known answers") {
  // RFC 3720, B.4, and the check value of the Castagnoli polynomial
  const std::vector<std::pair<std::string, std::uint32_t>> rows{
    {"", 0},
    {"123456789", 0xe3069283},
    {std::string(32, '\0'), 0x8a9136aa},
    {std::string(32, '\xff'), 0x62a8ab43},
  };
  for (const auto& [text, expected] : rows) {
    CAPTURE(text);
    CHECK(crc32c(bytes(text)) == expected);
    CHECK(crc32c_portable(bytes(text)) == expected);
  }
}

TEST_CASE("both ways to crc32c agree on all sizes and in pieces") {
  for (std::size_t size = 0; size < 70; ++size) {
    const auto text = ramp(size);
    const auto whole = crc32c(bytes(text));
    CHECK(whole == crc32c_portable(bytes(text)));
    const auto half = size / 3;
    CHECK(crc32c(bytes(text).subspan(half), crc32c(bytes(text).first(half)))
          == whole);
    CHECK(crc32c_portable(bytes(text).subspan(half),
                          crc32c_portable(bytes(text).first(half)))
          == whole);
  }
}

TEST_CASE("xxh3_64 gives the known answers, of memory and of files") {
  CHECK(xxh3_64({}) == 0x2d06800538d394c2);
  CHECK(xxh3_64(bytes("123456789")) == 0x72dcb18b67a17dff);
  const troupe::tests::temporary_folder folder;
  const auto text = ramp(2'500'000); // several blocks
  troupe::tests::write_file(folder / "data", text);
  CHECK(xxh3_64_of_file(folder / "data") == xxh3_64(bytes(text)));
}

TEST_CASE("a missing file is io_failed with path and reason") {
  CHECK(troupe::tests::failure_of([] { xxh3_64_of_file("/no/such"); })
        == "io_failed: cannot open /no/such: No such file or directory");
}

TEST_SUITE_END();
