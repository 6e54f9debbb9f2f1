// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/prompt_rows.hpp"

#include "tests/runtime/data/packed_files.hpp"
#include "tests/support/expect_failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::data;
using troupe::protocols::errc;
using troupe::tests::expect_failure;
using troupe::tests::gzip_of;
using troupe::tests::temporary_folder;
using troupe::tests::zstd_of;

TEST_SUITE_BEGIN("runtime.data.prompt_rows");

namespace {

prompt_rows read(const std::string& file, const std::string& on_bad_row) {
  return prompt_rows::read({.file = {file}}, {.on_bad_row = on_bad_row});
}

const std::string good_row = R"({"prompt": "1+1=", "answer": "2"})"
                             "\n";

std::string row_of(const std::string& prompt) {
  return R"({"prompt": ")" + prompt + R"(", "answer": "1"})" + '\n';
}

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

  REQUIRE(rows.size() == 3);
  CHECK(rows.row(0).prompt == "1+1=");
  CHECK(rows.row(0).answer == "2");
  CHECK(rows.row(1).prompt == "\xc3\xa4\n");
  CHECK(rows.row(1).answer == "-2.5");
  CHECK(rows.row(2).answer.empty());
  CHECK(rows.describe() == file + ": 3 rows kept, 0 dropped");
}

TEST_CASE("the fields' names come from the job") {
  const temporary_folder folder;
  const auto file = folder.write("r.jsonl", R"({"q": "a", "solution": "b"})");

  const auto rows = prompt_rows::read({{file}, "q", "solution"}, {});

  CHECK(rows.row(0).prompt == "a");
  CHECK(rows.row(0).answer == "b");
}

TEST_CASE("rows need no answer where nobody asks for one") {
  const temporary_folder folder;
  const auto file = folder.write("r.jsonl", R"({"prompt": "a"})");

  const auto rows = prompt_rows::read({{file}, "prompt", ""}, {});

  CHECK(rows.row(0).prompt == "a");
  CHECK(rows.row(0).answer.empty());
  expect_failure(errc::data_empty, {"with the field \"prompt\""}, [&] {
    prompt_rows::read({{folder.write("e.jsonl", "")}, "prompt", ""}, {});
  });
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
    CHECK(rows.size() == 1);
    CHECK(rows.num_dropped() == 1);
    CHECK(rows.first_dropped().at(0).find(file + ":2: ") == 0);
    CHECK(rows.describe().find(reason) != std::string::npos);
  }
}

TEST_CASE("skipped rows are counted and the first ten named") {
  const temporary_folder folder;
  auto text = good_row;
  for (int i = 0; i < 12; ++i)
    text += "{}\n";

  const auto rows = read(folder.write("r.jsonl", text), "skip");

  CHECK(rows.num_dropped() == 12);
  CHECK(rows.first_dropped().size() == 10);
  CHECK(rows.first_dropped().back().find(":11: ") != std::string::npos);
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

TEST_CASE("rows of a folder keep their files and lines") {
  const temporary_folder folder;
  const auto bad = R"({"prompt": "x"})"
                   "\n";
  folder.write("a.jsonl", row_of("a"));
  folder.write("b.jsonl.gz", gzip_of(row_of("b") + bad + row_of("c")));
  folder.write("c.jsonl.zst", zstd_of("\n" + row_of("d")));

  const auto rows = read(folder.path(), "skip");

  REQUIRE(rows.size() == 4);
  CHECK(rows.row(0).prompt == "a");
  CHECK(rows.row(1).prompt == "b");
  CHECK(rows.row(2).prompt == "c");
  CHECK(rows.row(3).prompt == "d");
  CHECK(rows.first_dropped().at(0).find((folder / "b.jsonl.gz").string()
                                        + ":2: field \"answer\"")
        == 0);
  CHECK(rows.describe().find(folder.path().string()
                             + " (3 files): 4 rows kept, 1 dropped")
        == 0);
  // The spool has no name.
  CHECK(std::distance(std::filesystem::directory_iterator{folder.path()}, {})
        == 3);
}

TEST_CASE("a check sees each row with its place and may drop it") {
  const temporary_folder folder;
  const auto file = folder.write("r.jsonl", row_of("a") + "\n" + row_of("bb"));
  std::vector<std::string> seen;
  read_options options{.on_bad_row = "skip",
                       .check = [&seen](const auto& row, const auto& place) {
                         seen.push_back(place + ' ' + row.prompt);
                         if (row.prompt.size() > 1)
                           throw bad_row{"too long"};
                       }};

  const auto rows = prompt_rows::read({.file = {file}}, options);

  CHECK(seen == std::vector<std::string>{file + ":1 a", file + ":3 bb"});
  CHECK(rows.size() == 1);
  CHECK(rows.first_dropped()
        == std::vector<std::string>{file + ":3: too long"});
  options.on_bad_row = "stop";
  expect_failure(errc::data_bad_row, {file + ":3: too long"},
                 [&] { prompt_rows::read({.file = {file}}, options); });
}

TEST_CASE("rows of any length are read again when asked for") {
  const temporary_folder folder;
  std::string text, long_prompt;
  for (int i = 0; i < 20000; ++i)
    long_prompt += std::to_string(i);
  for (const auto size : {1, 4080, 4096, 5000, 80000})
    text += row_of(long_prompt.substr(0, static_cast<std::size_t>(size)));
  text.pop_back(); // the last line needs no end

  for (const auto& content : {text, zstd_of(text)}) {
    const auto rows = read(folder.write("r.jsonl", content), "stop");
    REQUIRE(rows.size() == 5);
    CHECK((rows.row(4).prompt == long_prompt.substr(0, 80000)));
    CHECK((rows.row(1).prompt == long_prompt.substr(0, 4080)));
    CHECK((rows.row(2).prompt == long_prompt.substr(0, 4096)));
    CHECK((rows.row(3).prompt == long_prompt.substr(0, 5000)));
    CHECK(rows.row(0).prompt == "0");
  }
}

TEST_CASE("a file that changes while the job runs is named") {
  const temporary_folder folder;
  const auto file = folder.write("r.jsonl", row_of("a") + row_of("b"));
  const auto rows = read(file, "stop");

  folder.write("r.jsonl", "{}\n");

  expect_failure(
    errc::data_unreadable,
    {file, "was changed while the job runs", "row 1", "\"prompt\" is missing"},
    [&rows] { (void)rows.row(0); });
  expect_failure(errc::data_unreadable,
                 {file, "was changed while the job runs", "byte 31"},
                 [&rows] { (void)rows.row(1); });
}

TEST_CASE("a field's name may lead into objects, a whole name wins") {
  const temporary_folder folder;
  const auto file = folder.write(
    "r.jsonl", R"({"a": {"b": {"c": "deep"}, "x": 1}, "answer": "1"})"
               "\n"
               R"({"a.b.c": "whole", "a": {"b": {"c": "deep"}}, "answer": "1"})"
               "\n"
               R"({"a": {"b": "text"}, "answer": "1"})"
               "\n");

  const auto rows = prompt_rows::read({.file = {file}, .prompt_field = "a.b.c"},
                                      {.on_bad_row = "skip"});

  REQUIRE(rows.size() == 2);
  CHECK(rows.row(0).prompt == "deep");
  CHECK(rows.row(1).prompt == "whole");
  CHECK(rows.first_dropped().at(0).find("\"a.b.c\" is missing")
        != std::string::npos);
}

TEST_SUITE_END();
