// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/run_directory.hpp"

#include "tests/support/expect_failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <optional>

#include <unistd.h>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::outputs;
using troupe::protocols::errc;
using troupe::tests::expect_failure;
using troupe::tests::read_file;
using troupe::tests::temporary_folder;

namespace fs = std::filesystem;

TEST_SUITE_BEGIN("runtime.outputs.run_directory");

TEST_CASE("a fresh one has its subfolders and names its process") {
  const temporary_folder folder;
  const auto run = run_directory::open(folder.path() / "a/b", open_mode::fresh);

  for (const auto name : {layout::tensorboard, layout::journal, layout::cards,
                          layout::logs, layout::checkpoints})
    CHECK(fs::is_directory(run / name));
  CHECK(run.path() == folder.path() / "a/b");
  CHECK(read_file(run / layout::lock) == std::to_string(::getpid()) + '\n');
}

TEST_CASE("a second job in it is refused with the first one's process") {
  const temporary_folder folder;
  std::optional run{run_directory::open(folder.path(), open_mode::fresh)};

  expect_failure(errc::config_conflict,
                 {folder.path().string(),
                  "process " + std::to_string(::getpid()) + ';',
                  "run.directory"},
                 [&] { run_directory::open(folder.path(), open_mode::fresh); });
  auto moved = std::move(*run);
  run.reset();
  CHECK_THROWS(run_directory::open(folder.path(), open_mode::fresh));
}

TEST_CASE("the lock goes with its holder") {
  const temporary_folder folder;
  { const auto run = run_directory::open(folder.path(), open_mode::fresh); }

  CHECK_NOTHROW(run_directory::open(folder.path(), open_mode::fresh));
}

TEST_CASE("what a start without results left makes room for the next") {
  const temporary_folder folder;
  run_directory::open(folder.path(), open_mode::fresh).write_resolved("a: 1\n");
  troupe::tests::write_file(folder / "summary.json", "{}");
  troupe::tests::write_file(folder / "journal/rank-0.jsonl", "{}\n");
  troupe::tests::write_file(folder / "notes.txt", "mine");

  const auto run = run_directory::open(folder.path(), open_mode::fresh);

  CHECK_FALSE(fs::exists(run / layout::resolved));
  CHECK_FALSE(fs::exists(run / layout::summary));
  CHECK(fs::is_empty(run / layout::journal));
  CHECK(read_file(folder / "notes.txt") == "mine");
}

TEST_CASE("a folder with other things in it is refused and left alone") {
  const temporary_folder folder;
  troupe::tests::write_file(folder / ".hidden", "");
  troupe::tests::write_file(folder / "notes.txt", "mine");

  expect_failure(errc::config_conflict,
                 {folder.path().string(), "holds notes.txt", "run.directory"},
                 [&] { run_directory::open(folder.path(), open_mode::fresh); });
  CHECK_FALSE(fs::exists(folder / "lock"));
  fs::remove(folder / "notes.txt");
  CHECK_NOTHROW(run_directory::open(folder.path(), open_mode::fresh));
}

TEST_CASE("a run is not overwritten, but resumed") {
  const temporary_folder folder;
  run_directory::open(folder.path(), open_mode::fresh).write_resolved("a: 1\n");
  troupe::tests::write_file(folder / "metrics.jsonl", "{}\n");

  expect_failure(errc::config_conflict,
                 {folder.path().string(), "--resume", "run.directory"},
                 [&] { run_directory::open(folder.path(), open_mode::fresh); });
  CHECK(read_file(run_directory::open(folder.path(), open_mode::resume)
                  / layout::resolved)
        == "a: 1\n");
}

TEST_CASE("resuming where nothing ran is refused and makes no folder") {
  const temporary_folder folder;
  const auto path = folder.path() / "none";

  expect_failure(errc::checkpoint_absent,
                 {path.string(), "resolved.yaml", "--resume"},
                 [&path] { run_directory::open(path, open_mode::resume); });

  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a folder that cannot be made is named with the reason") {
  expect_failure(errc::io_failed, {"/dev/null/run", "run.directory"}, [] {
    run_directory::open("/dev/null/run", open_mode::fresh);
  });
}

TEST_SUITE_END();
