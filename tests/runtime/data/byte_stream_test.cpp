// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/byte_stream.hpp"

#include "runtime/data/line_reader.hpp"
#include "tests/runtime/data/packed_files.hpp"
#include "tests/support/expect_failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <sys/stat.h>

#include <vector>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::data;
using namespace std::string_literals;
using troupe::protocols::errc;
using troupe::tests::expect_failure;
using troupe::tests::gzip_of;
using troupe::tests::temporary_folder;
using troupe::tests::zstd_of;

TEST_SUITE_BEGIN("runtime.data.byte_stream");

namespace {

std::string read_all(const std::string& path) {
  const auto file = open_data_file(path);
  std::string out;
  char block[1000];
  while (const auto got = file.bytes->read(block, sizeof block))
    out.append(block, got);
  return out;
}

/// 1 MB that does not compress to nothing.
std::string long_text() {
  std::string out;
  for (std::uint64_t x = 1; out.size() < 1000000;
       x = x * 6364136223846793005U + 1442695040888963407U)
    out += std::to_string(x >> 20) + (x % 7 == 0 ? "\n" : " ");
  return out;
}

} // namespace

TEST_CASE("plain, gzip and zstd give the same bytes, whatever the name") {
  const temporary_folder folder;
  const auto text = long_text();
  const std::string_view half = std::string_view{text}.substr(0, 500000),
                         rest = std::string_view{text}.substr(500000);
  const auto skipped = "\x5e\x2a\x4d\x18\x03\x00\x00\x00xyz"s;

  for (const auto& [label, content, kind] :
       std::vector<std::tuple<const char*, std::string, file_kind>>{
         {"plain", text, file_kind::plain},
         {"gzip", gzip_of(text), file_kind::gzip},
         {"gzip, two members", gzip_of(half) + gzip_of(rest), file_kind::gzip},
         {"zstd", zstd_of(text), file_kind::zstd},
         {"zstd, three frames", zstd_of(half) + zstd_of("") + zstd_of(rest),
          file_kind::zstd},
         {"zstd, a skippable frame", skipped + zstd_of(text),
          file_kind::zstd}}) {
    CAPTURE(label);
    const auto path = folder.write("rows", content);
    CHECK(open_data_file(path).kind == kind);
    CHECK((read_all(path) == text));
  }
  CHECK(read_all(folder.write("empty", "")).empty());
}

TEST_CASE("a compressed file that is cut off or damaged is named") {
  const temporary_folder folder;
  const auto text = long_text();
  const auto gzip = gzip_of(text), zstd = zstd_of(text);
  auto bad_gzip = gzip, bad_zstd = zstd;
  bad_gzip[gzip.size() / 2] ^= 0x55;
  bad_zstd[zstd.size() / 2] ^= 0x55;

  for (const auto& [content, why] :
       std::vector<std::pair<std::string, const char*>>{
         {gzip.substr(0, gzip.size() / 2), "gzip: unexpected end of file"},
         {gzip.substr(0, gzip.size() - 1), "gzip: unexpected end of file"},
         {bad_gzip, "gzip: "},
         {zstd.substr(0, zstd.size() / 2), "zstd: the last frame is cut off"},
         {zstd.substr(0, zstd.size() - 1), "zstd: the last frame is cut off"},
         {bad_zstd, "zstd: "}}) {
    CAPTURE(why);
    const auto path = folder.write("rows", content);
    expect_failure(errc::data_unreadable,
                   {path + ": cannot be read: ", why, "data.*.file"},
                   [&path] { read_all(path); });
  }
}

TEST_CASE("other containers are refused by name, with a remedy") {
  const temporary_folder folder;

  for (const auto& [content, name, remedy] :
       std::vector<std::tuple<std::string, const char*, const char*>>{
         {"PAR1....", "Parquet", "read_parquet"},
         {"ARROW1\0\0"s, "Arrow", "from_file"},
         {"BZh91AY", "bzip2", "bunzip2"},
         {"\xfd"
          "7zXZ\0"s,
          "xz", "unxz"},
         {"PK\x03\x04", "zip", "unzip"}}) {
    const auto path = folder.write("rows.jsonl", content);
    expect_failure(errc::unsupported,
                   {path + ": is " + name, "allowed: JSONL", remedy},
                   [&path] { open_data_file(path); });
  }
}

TEST_CASE("what never ends, or may never begin, is no data file") {
  const temporary_folder folder;
  const auto pipe = (folder / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);

  for (const auto& file : {pipe, std::string{"/dev/zero"}})
    expect_failure(errc::data_unreadable,
                   {file + ": cannot be read: it is a pipe or a device"},
                   [&] { open_data_file(file); });
  expect_failure(errc::data_unreadable, {"/tmp", "folder"},
                 [] { open_data_file("/tmp"); });
  expect_failure(errc::data_unreadable,
                 {"/no/such.jsonl", "No such file", "JSONL"},
                 [] { open_data_file("/no/such.jsonl"); });
}

TEST_CASE("lines come with number and offset, across blocks") {
  const temporary_folder folder;
  const auto text = long_text() + "\n\nlast";
  const auto file = open_data_file(folder.write("rows", gzip_of(text)));
  line_reader lines{*file.bytes};
  std::int64_t count = 0;
  std::size_t at = 0;

  for (text_line line; lines.next(line);
       at = line.offset + line.text.size() + 1) {
    const auto end = std::min(text.find('\n', at), text.size());
    REQUIRE(line.number == ++count);
    REQUIRE(line.offset == at);
    REQUIRE((line.text == text.substr(at, end - at)));
    REQUIRE_FALSE(line.is_too_long);
  }

  CHECK(count > 1000);
  CHECK(at == text.size() + 1);
}

TEST_CASE("a line without end takes a bounded memory and the next one counts") {
  const temporary_folder folder;
  // 65 MiB of "x" are 66 KB as zstd.
  const auto file = open_data_file(folder.write(
    "rows", zstd_of(std::string(max_line_bytes + (1U << 20), 'x') + "\nnext")));
  line_reader lines{*file.bytes};
  text_line line;

  REQUIRE(lines.next(line));
  CHECK(line.is_too_long);
  CHECK(line.text.size() == max_line_bytes);
  REQUIRE(lines.next(line));
  CHECK(line.text == "next");
  CHECK(line.number == 2);
  CHECK_FALSE(line.is_too_long);
  CHECK_FALSE(lines.next(line));
}

TEST_SUITE_END();
