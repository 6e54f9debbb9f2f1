// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/record_file.hpp"

#include "tests/support/expect_failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::outputs;
using troupe::protocols::errc;
using troupe::tests::expect_failure;
using troupe::tests::read_file;
using troupe::tests::temporary_folder;

TEST_SUITE_BEGIN("runtime.outputs.record_file");

TEST_CASE("truncation keeps whole records up to the step") {
  struct row {
    const char* label;
    std::string before, after;
    std::int64_t num_kept;
  };
  const std::string one = "{\"step\":1}\n", two = "{\"step\":2,\"a\":[]}\n",
                    three = "{\"step\":3}\n";
  const temporary_folder folder;

  for (const auto& [label, before, after, num_kept] : std::vector<row>{
         {"later ones go", one + two + two + three, one + two + two, 3},
         {"all stay", one + two, one + two, 2},
         {"all go", three, "", 0},
         {"empty", "", "", 0},
         {"torn after whole", one + two + "{\"step\":2", one + two, 2},
         {"torn, though it would parse", one + "{\"step\":2}", one, 1},
         {"garbage after the cut", one + three + "x\n", one, 1},
       }) {
    CAPTURE(label);
    const auto file = folder.write("r.jsonl", before);
    CHECK(truncate_records(file, 2) == num_kept);
    CHECK(read_file(file) == after);
  }
  CHECK(truncate_records(folder.path() / "absent", 2) == 0);
}

TEST_CASE("a whole line that is no record is named, and the file stays") {
  const temporary_folder folder;
  for (const std::string bad : {"x", "[]", "{\"a\":1}", "{\"step\":\"1\"}"}) {
    const auto text = "{\"step\":1}\n" + bad + "\n{\"step\":2}\n";
    const auto file = folder.write("r.jsonl", text);
    expect_failure(errc::checkpoint_corrupt, {file + ":2: no record: " + bad},
                   [&file] { truncate_records(file, 5); });
    CHECK(read_file(file) == text);
  }
}

TEST_CASE("a folder that is not there is named with the reason") {
  expect_failure(errc::io_failed, {"/no/such/r.jsonl", "No such file"},
                 [] { record_file{"/no/such/r.jsonl"}; });
}

TEST_CASE("a full disk is reported with path and reason") {
  if (!std::filesystem::exists("/dev/full"))
    return;
  record_file file{"/dev/full"};

  expect_failure(errc::io_failed, {"/dev/full", "No space left"},
                 [&file] { file.append("{}"); });
}

TEST_SUITE_END();
