// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/rollouts_writer.hpp"

#include "tests/support/temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::outputs;
using troupe::tests::read_file;
using troupe::tests::temporary_folder;

TEST_SUITE_BEGIN("runtime.outputs.rollouts_writer");

TEST_CASE("a group is one line with its samples") {
  const temporary_folder folder;
  const auto file = folder.path() / "rollouts.jsonl";
  rollouts_writer writer{file};
  writer.write({.step = 2,
                .id = {1, 4, 0},
                .prompt = "1+1=\n",
                .answer = "2",
                .samples = {{"2", 1, 0.5, 2, "stop_token", 7, 8},
                            {"\xff\"", 0, std::nan(""), 64, "budget", 7, 7}}});

  const auto text = read_file(file);
  const auto json = nlohmann::json::parse(text);

  CHECK(text.find('\n') == text.size() - 1);
  CHECK(json["step"] == 2);
  CHECK(json["group"] == "1/4/0");
  CHECK(json["prompt"] == "1+1=\n");
  CHECK(json["samples"][0]["completion"] == "2");
  CHECK(json["samples"][0]["advantage"] == 0.5);
  CHECK(json["samples"][0]["max_policy_version"] == 8);
  CHECK(json["samples"][1]["completion"] == "\xef\xbf\xbd\"");
  CHECK(json["samples"][1]["advantage"] == "nan");
  CHECK(json["samples"][1]["finish"] == "budget");
}

TEST_CASE("a resumed writer goes on after the resumed step") {
  const temporary_folder folder;
  const auto file = folder.path() / "rollouts.jsonl";
  {
    rollouts_writer writer{file};
    for (const auto step : {1, 2, 3})
      writer.write({.step = step});
  }
  const auto whole = read_file(file);

  rollouts_writer{file, 2}.write({.step = 3});

  CHECK(read_file(file) == whole);
}

TEST_SUITE_END();
