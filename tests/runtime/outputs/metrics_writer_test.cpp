// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/metrics_writer.hpp"

#include "tests/support/expect_failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::outputs;
using troupe::protocols::errc;
using troupe::tests::expect_failure;
using troupe::tests::read_file;
using troupe::tests::temporary_folder;

TEST_SUITE_BEGIN("runtime.outputs.metrics_writer");

TEST_CASE("a record is one line, on disk when write returns") {
  const temporary_folder folder;
  const auto file = folder.path() / "metrics.jsonl";
  metrics_writer writer{file};

  writer.write({3, stage::train, {{"train/loss", 0.5}, {"reward/mean", 1}}});

  CHECK(read_file(file)
        == "{\"step\":3,\"stage\":\"train\",\"train/loss\":0.5,"
           "\"reward/mean\":1}\n");
}

TEST_CASE("doubles read back to the same bits, also those not finite") {
  const temporary_folder folder;
  const auto file = folder.path() / "metrics.jsonl";
  const std::vector<double> values{0.1,
                                   -0.0,
                                   1e308,
                                   5e-324,
                                   1.0 / 3,
                                   123456789012345678.0,
                                   -1e-7,
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity()};
  metrics_writer writer{file};
  for (const auto value : values)
    writer.write({0, stage::eval, {{"train/loss", value}}});
  writer.write({0, stage::warmup, {{"train/loss", std::nan("")}}});

  const auto records = read_metrics(file);

  REQUIRE(records.size() == values.size() + 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(std::bit_cast<std::uint64_t>(records[i].metrics.at(0).value)
          == std::bit_cast<std::uint64_t>(values[i]));
    CHECK(records[i].about == stage::eval);
  }
  CHECK(std::isnan(records.back().metrics.at(0).value));
  CHECK(records.back().about == stage::warmup);
  CHECK(read_file(file).find(":\"nan\"}") != std::string::npos);
  CHECK(read_file(file).find(":\"-inf\"}") != std::string::npos);
}

TEST_CASE("an unlisted key, a key twice and a falling step write nothing") {
  const temporary_folder folder;
  const auto file = folder.path() / "metrics.jsonl";
  metrics_writer writer{file};
  writer.write({5, stage::train, {}});
  const auto before = read_file(file);

  expect_failure(errc::internal, {"\"train/los\"", "metric_keys.hpp"}, [&] {
    writer.write({6, stage::train, {{"train/loss", 1}, {"train/los", 1}}});
  });
  expect_failure(errc::internal, {"\"train/loss\" is twice", "step 6"}, [&] {
    writer.write({6, stage::train, {{"train/loss", 1}, {"train/loss", 1}}});
  });
  expect_failure(errc::internal, {"step 4 after", "step 5"}, [&] {
    writer.write({4, stage::train, {}});
  });

  CHECK(read_file(file) == before);
}

TEST_CASE("a resumed writer goes on after the resumed step") {
  const temporary_folder folder;
  const auto file = folder.path() / "metrics.jsonl";
  {
    metrics_writer writer{file};
    for (const auto step : {1, 2, 2, 3, 4})
      writer.write({step, stage::train, {{"train/loss", 0.5 * step}}});
  }
  const auto whole = read_file(file);

  metrics_writer resumed{file, 2};
  for (const auto step : {3, 4})
    resumed.write({step, stage::train, {{"train/loss", 0.5 * step}}});

  CHECK(read_file(file) == whole);
}

TEST_CASE("reading names the file and line of what is no record") {
  const temporary_folder folder;
  const auto file = folder.write("m.jsonl", "{\"step\":1,\"stage\":\"eval\"}\n"
                                            "x\n");

  expect_failure(errc::data_unreadable, {file + ":2: no record"},
                 [&file] { read_metrics(file); });
  expect_failure(errc::data_unreadable, {"/no/file"},
                 [] { read_metrics("/no/file"); });
}

TEST_SUITE_END();
