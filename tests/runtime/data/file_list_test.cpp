// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/file_list.hpp"

#include "tests/support/expect_failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::data;
using troupe::protocols::errc;
using troupe::tests::expect_failure;
using troupe::tests::temporary_folder;

TEST_SUITE_BEGIN("runtime.data.file_list");

namespace {

using paths = std::vector<std::string>;

} // namespace

TEST_CASE("a folder means its JSONL files by name, and no others") {
  const temporary_folder folder;
  paths wanted;
  for (const auto* name :
       {"a.jsonl", "b.jsonl.gz", "c.ndjson", "d.json", "e.jsonl.zst"})
    wanted.push_back(folder.write(name, ""));
  for (const auto* name : {"README.md", ".hidden.jsonl", "f.jsonl.bak", "g.gz"})
    folder.write(name, "");
  std::filesystem::create_directory(folder / "below");

  CHECK(files_of(paths{folder.path()}) == wanted);
  CHECK(files_of(paths{wanted[3], folder.path(), "/not/there"})
        == paths{wanted[3], wanted[0], wanted[1], wanted[2], wanted[3],
                 wanted[4], "/not/there"});
}

TEST_CASE("a pattern means what it matches, unless a file is called so") {
  const temporary_folder folder;
  const auto a = folder.write("part-1.jsonl", ""),
             b = folder.write("part-2.jsonl", ""),
             c = folder.write("part-10.jsonl", "");

  CHECK(files_of(paths{(folder / "part-*.jsonl").string()}) == paths{a, c, b});
  CHECK(files_of(paths{(folder / "part-?.jsonl").string()}) == paths{a, b});
  CHECK(files_of(paths{(folder / "part-[2-9].jsonl").string()}) == paths{b});
  const auto odd = folder.write("part-[2-9].jsonl", "");
  CHECK(files_of(paths{odd}) == paths{odd});
}

TEST_CASE("a folder or a pattern with nothing is named with what is there") {
  const temporary_folder folder;

  expect_failure(errc::data_unreadable,
                 {folder.path().string(), "no .jsonl", "it is empty"},
                 [&] { files_of(paths{folder.path()}); });
  folder.write("notes.txt", "");
  expect_failure(errc::data_unreadable, {"it has notes.txt"},
                 [&] { files_of(paths{folder.path()}); });
  expect_failure(errc::data_unreadable, {"*.jsonl", "no file matches"},
                 [&] { files_of(paths{(folder / "*.jsonl").string()}); });
  folder.write("train.parquet", "PAR1");
  expect_failure(errc::unsupported, {"train.parquet: is Parquet"},
                 [&] { files_of(paths{folder.path()}); });
}

TEST_SUITE_END();
