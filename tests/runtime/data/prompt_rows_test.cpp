// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/prompt_rows.hpp"

#include "tests/support/expect_failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <sys/stat.h>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::data;
using troupe::protocols::errc;
using troupe::tests::expect_failure;
using troupe::tests::temporary_folder;

TEST_SUITE_BEGIN("runtime.data.prompt_rows");

namespace {

prompt_rows read(const std::string& file, const std::string& on_bad_row) {
  return read_prompt_rows({.file = file}, on_bad_row);
}

const std::string good_row = R"({"prompt": "1+1=", "answer": "2"})"
                             "\n";

} // namespace

TEST_CASE("rows keep the two fields and their line, blank lines are none") {
  const temporary_folder folder;
  const auto file =
    folder.write("r.jsonl", "\xef\xbb\xbf" + good_row
                              + "\n  \r\n"
                                R"({"a": [1], "answer": -2.5, )"
                                R"("prompt": "\u00e4\n"})"
                                "\r\n"
                                R"({"prompt":"x","answer":""})");

  const auto rows = read(file, "stop");

  REQUIRE(rows.rows.size() == 3);
  CHECK(rows.rows[0].prompt == "1+1=");
  CHECK(rows.rows[0].answer == "2");
  CHECK(rows.rows[0].line == 1);
  CHECK(rows.rows[1].prompt == "\xc3\xa4\n");
  CHECK(rows.rows[1].answer == "-2.5");
  CHECK(rows.rows[1].line == 4);
  CHECK(rows.rows[2].answer.empty());
  CHECK(rows.describe() == file + ": 3 rows kept, 0 dropped");
}

TEST_CASE("the fields' names come from the job") {
  const temporary_folder folder;
  const auto file = folder.write("r.jsonl", R"({"q": "a", "solution": "b"})");

  const auto rows = read_prompt_rows({file, "q", "solution"}, "stop");

  CHECK(rows.rows.at(0).prompt == "a");
  CHECK(rows.rows.at(0).answer == "b");
}

TEST_CASE("rows need no answer where nobody asks for one") {
  const temporary_folder folder;
  const auto file = folder.write("r.jsonl", R"({"prompt": "a"})");

  const auto rows = read_prompt_rows({file, "prompt", ""}, "stop");

  CHECK(rows.rows.at(0).prompt == "a");
  CHECK(rows.rows.at(0).answer.empty());
  expect_failure(errc::data_empty, {"with the field \"prompt\""}, [&] {
    read_prompt_rows({folder.write("e.jsonl", ""), "prompt", ""}, "stop");
  });
}

TEST_CASE("what never ends, or may never begin, is no data file") {
  const temporary_folder folder;
  const auto pipe = (folder / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);

  for (const auto& file : {pipe, std::string{"/dev/zero"}})
    expect_failure(errc::data_unreadable,
                   {file + ": cannot be read: it is a pipe or a device"},
                   [&] { read(file, "stop"); });
}

TEST_CASE("a bad row stops with file, line, field and reason") {
  struct bad {
    const char* label;
    std::string line;
    std::string reason;
  };
  const std::vector<bad> table{
    {"no JSON", "{\"prompt\": ", ":2: no JSON: column 12: syntax error"},
    {"number", R"({"prompt": 1e999})", "no JSON: number overflow"},
    {"no object", "[1]", "the line is array"},
    {"no prompt", R"({"answer": "2"})", "field \"prompt\" is missing"},
    {"no answer", R"({"prompt": "2"})", "field \"answer\" is missing"},
    {"null", R"({"prompt": "2", "answer": null})", "\"answer\" is null"},
    {"empty", R"({"prompt": "", "answer": "1"})", "\"prompt\" is empty"},
    {"no UTF-8", "{\"prompt\": \"\xff\", \"answer\": \"1\"}", "UTF-8"},
    {"surrogate", R"({"prompt": "\ud800", "answer": "1"})", "no JSON"},
  };
  const temporary_folder folder;

  for (const auto& [label, line, reason] : table) {
    CAPTURE(label);
    const auto file = folder.write("r.jsonl", good_row + line + '\n');
    expect_failure(errc::data_bad_row,
                   {file + ":2: ", reason, "data.on_bad_row: skip"},
                   [&file] { read(file, "stop"); });
    const auto rows = read(file, "skip");
    CHECK(rows.rows.size() == 1);
    CHECK(rows.num_dropped == 1);
    CHECK(rows.first_dropped.at(0).find(file + ":2: ") == 0);
    CHECK(rows.describe().find(reason) != std::string::npos);
  }
}

TEST_CASE("skipped rows are counted and the first ten named") {
  const temporary_folder folder;
  auto text = good_row;
  for (int i = 0; i < 12; ++i)
    text += "{}\n";

  const auto rows = read(folder.write("r.jsonl", text), "skip");

  CHECK(rows.num_dropped == 12);
  CHECK(rows.first_dropped.size() == 10);
  CHECK(rows.first_dropped.back().find(":11: ") != std::string::npos);
}

TEST_CASE("P60 zero rows kept is an error with the reasons") {
  const temporary_folder folder;
  const auto bad = folder.write("bad.jsonl", "{}\n{}\n");
  expect_failure(
    errc::data_empty,
    {bad + ": no row", "0 kept, 2 dropped", "\"prompt\"", bad + ":1: field"},
    [&bad] { read(bad, "skip"); });
  const auto empty = folder.write("empty.jsonl", "\n");
  expect_failure(errc::data_empty, {empty, "0 kept, 0 dropped"},
                 [&empty] { read(empty, "stop"); });
}

TEST_CASE("a file that cannot be read is named with the reason") {
  expect_failure(errc::data_unreadable,
                 {"/no/such.jsonl", "No such file", "JSONL"},
                 [] { read("/no/such.jsonl", "stop"); });
  expect_failure(errc::data_unreadable, {"/tmp", "folder"},
                 [] { read("/tmp", "stop"); });
}

TEST_SUITE_END();
