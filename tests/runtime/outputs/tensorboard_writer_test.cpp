// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/tensorboard_writer.hpp"

#include "tests/support/expect_failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::outputs;
using troupe::protocols::errc;
using troupe::tests::expect_failure;
using troupe::tests::read_file;
using troupe::tests::temporary_folder;

TEST_SUITE_BEGIN("runtime.outputs.tensorboard_writer");

namespace {

double fixed_clock() {
  return 1.5;
}

} // namespace

TEST_CASE("a file begins with the version event, framed and checked") {
  const temporary_folder folder;
  const tensorboard_writer writer{folder.path(), {}, fixed_clock};

  // Bytes of tensorflow.train.Event(wall_time=1.5, step=0 left out by
  // protobuf, file_version="brain.Event:2"), with its step written here.
  const auto bytes = read_file(writer.path());
  REQUIRE(bytes.size() == 8 + 4 + 26 + 4);
  CHECK(bytes.substr(0, 8) == std::string{"\x1a\0\0\0\0\0\0\0", 8});
  CHECK(bytes.substr(12, 9) == std::string{"\x09\0\0\0\0\0\0\xf8\x3f", 9});
  CHECK(bytes.substr(21, 2) == std::string{"\x10\0", 2});
  CHECK(bytes.substr(23, 15)
        == "\x1a\x0d"
           "brain.Event:2");
  CHECK(writer.path().filename().string().find("events.out.tfevents.1.") == 0);
}

TEST_CASE("each record is on disk when write returns") {
  const temporary_folder folder;
  tensorboard_writer writer{folder.path(), {}, fixed_clock};
  const auto before = read_file(writer.path()).size();

  writer.write({1, stage::train, {{"train/loss", 2}}});

  const auto bytes = read_file(writer.path());
  CHECK(bytes.size() > before);
  CHECK(bytes.find("train/loss", before) != std::string::npos);
}

TEST_CASE("a folder that is not there is named") {
  expect_failure(errc::io_failed, {"/no/such", "No such file"},
                 [] { tensorboard_writer{"/no/such"}; });
}

TEST_SUITE_END();
