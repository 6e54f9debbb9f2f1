// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/manifest.hpp"

#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_of_death.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "tests/support/doctest.hpp"

namespace fs = std::filesystem;
using namespace troupe::runtime::checkpoint;
using troupe::tests::contains;
using troupe::tests::failure_of;
using troupe::tests::read_file;
using troupe::tests::temporary_folder;
using troupe::tests::write_file;

namespace {

struct stopped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

manifest made_at(std::int64_t step) {
  return {"job a", "model b", step, static_cast<std::uint64_t>(step) + 1, {}};
}

/// Writes two files and seals them; stops after a stage, as a crash would.
void write_checkpoint(const fs::path& directory, std::int64_t step,
                      const std::string& content = "weights",
                      std::optional<seal_stage> last = {}) {
  checkpoint_writer writer{directory, step};
  write_file(writer.path() / "model.bin", content);
  write_file(writer.path() / "state.bin", "state");
  writer.add_file("model.bin");
  writer.add_file("state.bin");
  writer.seal(made_at(step), [&](seal_stage stage) {
    if (stage == last)
      throw stopped{"crash"};
  });
}

std::vector<std::int64_t> sealed_steps(const fs::path& directory) {
  std::vector<std::int64_t> out;
  for (const auto& found : list_sealed(directory))
    out.push_back(found.step);
  return out;
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator{directory})
    out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

using steps = std::vector<std::int64_t>;
using names = std::vector<std::string>;

} // namespace

TEST_SUITE_BEGIN("runtime.checkpoint.manifest");

TEST_CASE("a sealed checkpoint is read back and verified") {
  const temporary_folder folder;
  write_checkpoint(folder.path(), 7);

  const auto found = verify(folder / "step-7");

  CHECK(found.job_identity == "job a");
  CHECK(found.model_identity == "model b");
  CHECK(found.step == 7);
  CHECK(found.policy_version == 8);
  REQUIRE(found.files.size() == 2);
  CHECK(found.files[0].name == "model.bin");
  CHECK(found.files[0].bytes == 7);
  CHECK(names_in(folder / "step-7")
        == names{"manifest.json", "model.bin", "state.bin"});
  require_identity(found, folder / "step-7", "job a", "model b");
}

TEST_CASE("a crash after any stage leaves the older checkpoint, or the new") {
  struct row {
    seal_stage last;
    bool is_sealed;
  };
  for (const auto& [last, is_sealed] :
       {row{seal_stage::files_synced, false},
        row{seal_stage::manifest_written, false},
        row{seal_stage::directory_synced, false},
        row{seal_stage::renamed, true}, row{seal_stage::parent_synced, true}}) {
    CAPTURE(static_cast<int>(last));
    const temporary_folder folder;
    write_checkpoint(folder.path(), 9);
    CHECK_THROWS_AS(write_checkpoint(folder.path(), 10, "weights", last),
                    stopped);

    CHECK(sealed_steps(folder.path()) == (is_sealed ? steps{10, 9} : steps{9}));
    for (const auto& found : list_sealed(folder.path()))
      CHECK(verify(found.path).step == found.step);
    // what is left over does not disturb the next run
    retain_newest(folder.path(), 2);
    CHECK_FALSE(fs::exists(folder / "step-10.partial"));
    write_checkpoint(folder.path(), 10);
    CHECK(verify(folder / "step-10").files.size() == 2);
  }
}

TEST_CASE("a step that is sealed again replaces the older one") {
  for (const auto last : {std::optional<seal_stage>{},
                          {seal_stage::directory_synced},
                          {seal_stage::renamed}}) {
    const temporary_folder folder;
    write_checkpoint(folder.path(), 3, "older");
    if (last)
      CHECK_THROWS_AS(write_checkpoint(folder.path(), 3, "newer", last),
                      stopped);
    else
      write_checkpoint(folder.path(), 3, "newer");

    verify(folder / "step-3");
    CHECK(read_file(folder / "step-3/model.bin")
          == (last == seal_stage::directory_synced ? "older" : "newer"));
    if (!last)
      CHECK(names_in(folder.path()) == names{"step-3"});
  }
}

TEST_CASE("a crash before the seal leaves nothing that is sealed") {
  const temporary_folder folder;
  {
    checkpoint_writer writer{folder.path(), 1};
    write_file(writer.path() / "model.bin", "half");
  }
  CHECK(list_sealed(folder.path()).empty());
  CHECK(names_in(folder.path()) == names{"step-1.partial"});
}

TEST_CASE("damage after the seal is named with its file") {
  const temporary_folder folder;
  write_checkpoint(folder.path(), 5);
  const auto sealed = folder / "step-5";
  const auto file = (sealed / "model.bin").string();
  const auto manifest_path = sealed / "manifest.json";
  const auto text = read_file(manifest_path);
  const auto refused = [&] { return failure_of([&] { verify(sealed); }); };

  SUBCASE("a flipped bit") {
    write_file(file, "weightt");
    CHECK(
      refused().starts_with("checkpoint_corrupt: " + file + ": XXH3-64 is "));
    CHECK(contains(refused(), "; the manifest has "));
    read_manifest(sealed); // which does not read the files
  }
  SUBCASE("a torn file") {
    write_file(file, "weig");
    CHECK(refused()
          == "checkpoint_corrupt: " + file
               + ": has 4 bytes; the manifest has 7");
  }
  SUBCASE("a missing file") {
    fs::remove(file);
    CHECK(refused()
          == "checkpoint_corrupt: " + file
               + ": the manifest names it, but: No such file or directory");
  }
  SUBCASE("a truncated manifest, wherever it ends") {
    for (std::size_t size = 0; size + 2 < text.size(); ++size) {
      write_file(manifest_path, text.substr(0, size));
      REQUIRE(refused().starts_with(
        "checkpoint_corrupt: " + manifest_path.string() + ": no manifest: "));
    }
  }
  SUBCASE("no manifest") {
    fs::remove(manifest_path);
    CHECK(refused()
          == "checkpoint_corrupt: cannot open " + manifest_path.string()
               + ": No such file or directory");
  }
  SUBCASE("a manifest of another step") {
    fs::rename(sealed, folder / "step-6");
    CHECK(failure_of([&] { read_manifest(folder / "step-6"); })
          == "checkpoint_corrupt: " + (folder / "step-6").string()
               + "/manifest.json: step is 5, but the folder is of step 6");
  }
  SUBCASE("a manifest of another version") {
    auto changed = text;
    changed.replace(changed.find("n\": 1,"), 6, "n\": 2,");
    write_file(manifest_path, changed);
    CHECK(refused()
          == "checkpoint_corrupt: " + manifest_path.string()
               + ": format_version is 2; this program reads 1");
  }
  SUBCASE("a name that leads elsewhere") {
    auto changed = text;
    changed.replace(changed.find("model.bin"), 9, "../m.bin");
    write_file(manifest_path, changed);
    CHECK(refused()
          == "checkpoint_corrupt: " + manifest_path.string()
               + ": \"../m.bin\" is no name of a file");
  }
}

TEST_CASE("a checkpoint of another job or model is refused") {
  const auto found = made_at(1);
  CHECK(
    failure_of([&] { require_identity(found, "c/step-1", "job x", "model b"); })
    == "checkpoint_mismatch: c/step-1 is of another job: it has \"job a\", "
       "this job has \"job x\"");
  CHECK(
    failure_of([&] { require_identity(found, "c/step-1", "job a", "tiny"); })
    == "checkpoint_mismatch: c/step-1 is of another model: it has "
       "\"model b\", this job has \"tiny\"");
}

TEST_CASE("a missing checkpoint is absent, not corrupt") {
  CHECK(failure_of([] { read_manifest("/no/step-1"); })
        == "checkpoint_absent: /no/step-1 is no checkpoint: no such folder");
  CHECK(list_sealed("/no").empty());
}

TEST_CASE("checkpoints are listed by number, whatever else lies there") {
  const temporary_folder folder;
  for (const auto step : {9, 100, 10})
    write_checkpoint(folder.path(), step);
  for (const auto* name : {"step-", "step-x", "step-1x", "other", "step--1"})
    fs::create_directory(folder / name);
  write_file(folder / "step-11", "a file");
  CHECK(sealed_steps(folder.path()) == steps{100, 10, 9});
}

TEST_CASE("retention keeps the newest, and what a live writer owns") {
  const temporary_folder folder;
  for (const auto step : {1, 2, 3})
    write_checkpoint(folder.path(), step);
  fs::create_directory(folder / "step-8.partial");
  const checkpoint_writer alive{folder.path(), 4};

  CHECK(retain_newest(folder.path(), 2).size() == 2);
  CHECK(names_in(folder.path()) == names{"step-2", "step-3", "step-4.partial"});
  CHECK(retain_newest(folder.path(), 2).empty());

  retain_newest(folder.path(), 0);
  CHECK(sealed_steps(folder.path()) == steps{3});
}

TEST_CASE("a step has one live writer") {
  const temporary_folder folder;
  const checkpoint_writer first{folder.path(), 4};
  CHECK(failure_of([&] {
          checkpoint_writer{folder.path(), 4};
        })
        == "io_failed: " + (folder / "step-4.partial").string()
             + " is being written by a live process");
}

TEST_CASE("CP-1: a writer seals its own step") {
  const temporary_folder folder;
  CHECK(troupe::tests::text_of_death([&] {
          checkpoint_writer writer{folder.path(), 3};
          writer.seal({.job_identity = "job",
                       .model_identity = "model",
                       .step = 4,
                       .files = {}});
        }).find("CP-1")
        != std::string::npos);
}

TEST_CASE("what is recorded must be there when it is sealed") {
  const temporary_folder folder;
  checkpoint_writer writer{folder.path(), 2};
  const auto file = (writer.path() / "a").string();
  CHECK(failure_of([&] { writer.add_file("a"); })
        == "io_failed: cannot read " + file + ": No such file or directory");
  CHECK(failure_of([&] {
          writer.add_file(manifest_file{"../a", 1, 2});
        })
        == "invalid_request: cannot record \"../a\" in "
             + writer.path().string() + ": a plain file name is needed");
  writer.add_file(manifest_file{"a", 3, 0});
  CHECK(failure_of([&] {
          writer.add_file(manifest_file{"a", 3, 0});
        })
        == "invalid_request: cannot record \"a\" in " + writer.path().string()
             + ": it is recorded already");
  const auto seal = [&] { writer.seal(made_at(2)); };
  CHECK(failure_of(seal)
        == "checkpoint_corrupt: " + file
             + ": recorded with 3 bytes, but No such file or directory");
  write_file(file, "ab");
  CHECK(failure_of(seal)
        == "checkpoint_corrupt: " + file
             + ": recorded with 3 bytes, but has 2");
  CHECK(list_sealed(folder.path()).empty());
}

TEST_SUITE_END();
