// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/key_reference.hpp"

#include "runtime/config/key_table.hpp"
#include "runtime/config/read_job.hpp"
#include "tests/support/generated_doc.hpp"
#include "tests/support/temporary_folder.hpp"

#include <filesystem>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::config;
using troupe::tests::read_file;

TEST_SUITE_BEGIN("runtime.config.key_reference");

TEST_CASE("docs/configuration.md lists the keys of the table") {
  std::string advice;
  const bool is_same = troupe::tests::has_generated_part(
    TROUPE_SOURCE_DIR "/docs/configuration.md", render_key_reference(), advice);
  CHECK_MESSAGE(is_same, advice);
}

TEST_CASE("a document that differs is told where its new part lies") {
  const troupe::tests::temporary_folder folder;
  const auto doc = folder.path() / "keys.md";
  std::ofstream{doc} << "# Keys\n"
                     << troupe::tests::generated_marker << "old\n";
  std::string advice;

  CHECK(troupe::tests::has_generated_part(doc, "old\n", advice));
  CHECK(advice.empty());
  CHECK_FALSE(troupe::tests::has_generated_part(doc, "new\n", advice));
  const auto expected =
    std::filesystem::temp_directory_path() / "expected_keys.md";
  CHECK(advice.find(expected.string()) != std::string::npos);
  CHECK(read_file(expected) == "new\n");
  std::filesystem::remove(expected);
}

TEST_CASE("the job in docs/configuration.md reads") {
  const auto text = read_file(TROUPE_SOURCE_DIR "/docs/configuration.md");
  const std::string fence = "```yaml\n";
  const auto begin = text.find(fence) + fence.size();

  CHECK(read_job_text(text.substr(begin, text.find("```", begin) - begin),
                      "docs/job.yaml")
          .train.steps
        == 100);
}

TEST_CASE("every job in samples/ reads") {
  for (const auto& entry :
       std::filesystem::directory_iterator{TROUPE_SOURCE_DIR "/samples"})
    if (entry.path().extension() == ".yaml") {
      CAPTURE(entry.path());
      CHECK_NOTHROW(read_job(entry.path()));
    }
}

TEST_CASE("the reference names every key") {
  const auto text = render_key_reference();

  for (const auto& row : key_table())
    CHECK(text.find("| `" + row.path.substr(row.path.rfind('.') + 1) + "` |")
          != std::string::npos);
}

TEST_SUITE_END();
