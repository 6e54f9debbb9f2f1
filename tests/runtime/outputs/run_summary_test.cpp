// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/run_summary.hpp"

#include "tests/support/expect_failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <cmath>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::outputs;
using troupe::protocols::errc;
using troupe::tests::expect_failure;
using troupe::tests::temporary_folder;

TEST_SUITE_BEGIN("runtime.outputs.run_summary");

TEST_CASE("a summary reads back, and replaces an older one") {
  const temporary_folder folder;
  const auto file = folder.write("summary.json", "{}");
  const run_summary summary{
    .status = "failed",
    .exit_code = 1,
    .reason = "rank-0 was lost \xff",
    .causes = {"process_lost: rank-0"},
    .warnings = {"late"},
    .steps = 10,
    .policy_version = 20,
    .wall_seconds = 1.5,
    .checkpoint = "checkpoints/10",
    .final_model = "",
    .data = {{"train", {990, 10}}},
    .metrics = {{"eval/heldout_accuracy", 0.5}, {"train/loss", std::nan("")}}};

  write_summary(file, summary);
  const auto back = read_summary(file);

  CHECK(back.status == "failed");
  CHECK(back.exit_code == 1);
  CHECK(back.reason == "rank-0 was lost \xef\xbf\xbd");
  CHECK(back.causes == summary.causes);
  CHECK(back.warnings == summary.warnings);
  CHECK(back.steps == 10);
  CHECK(back.policy_version == 20);
  CHECK(back.wall_seconds == 1.5);
  CHECK(back.checkpoint == summary.checkpoint);
  CHECK(back.final_model.empty());
  CHECK(back.data == summary.data);
  CHECK(back.metrics.at("eval/heldout_accuracy") == 0.5);
  CHECK(std::isnan(back.metrics.at("train/loss")));
  CHECK(std::distance(std::filesystem::directory_iterator{folder.path()}, {})
        == 1);
}

TEST_CASE("what is no summary is named") {
  const temporary_folder folder;
  const auto file = folder.write("summary.json", "{\"status\": 3}");

  expect_failure(errc::data_unreadable, {file, "no summary"},
                 [&file] { read_summary(file); });
  expect_failure(errc::data_unreadable, {"/no/summary.json"},
                 [] { read_summary("/no/summary.json"); });
}

TEST_SUITE_END();
