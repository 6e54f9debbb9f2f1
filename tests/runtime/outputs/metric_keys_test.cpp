// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/metric_keys.hpp"

#include "tests/support/generated_doc.hpp"

#include <string>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::outputs;

TEST_SUITE_BEGIN("runtime.outputs.metric_keys");

namespace {

std::string render() {
  std::string out = "\n| key | unit | definition |\n| --- | --- | --- |\n";
  for (const auto& row : metric_keys) {
    // "|" would end the cell.
    std::string definition{row.definition};
    for (auto at = definition.find('|'); at != std::string::npos;
         at = definition.find('|', at + 2))
      definition.insert(at, 1, '\\');
    out += "| `" + std::string{row.key} + "` | " + std::string{row.unit} + " | "
           + definition + " |\n";
  }
  return out;
}

} // namespace

TEST_CASE("docs/metrics.md lists the keys of the table") {
  std::string advice;
  const bool is_same = troupe::tests::has_generated_part(
    TROUPE_SOURCE_DIR "/docs/metrics.md", render(), advice);
  CHECK_MESSAGE(is_same, advice);
}

TEST_CASE("a key is listed or not") {
  for (const auto* key : {"train/loss", "time/generate_s", "time/step_s",
                          "eval/heldout_accuracy", "eval/heldout_pass_at_8",
                          "eval/a_b_pass_at_16", "memory/rank-0_rss_bytes"})
    CHECK(find_metric_key(key) != nullptr);
  for (const auto* key :
       {"train/los", "train/loss ", "", "time/_s", "time/A_s", "time/a/b_s",
        "eval/accuracy", "xtime/a_s", "eval/heldout_pass_at_"})
    CHECK(find_metric_key(key) == nullptr);
}

TEST_CASE("every row finds itself first") {
  for (const auto& row : metric_keys) {
    CAPTURE(row.key);
    std::string key{row.key};
    for (auto at = key.find('<'); at != std::string::npos; at = key.find('<'))
      key.replace(at, key.find('>') - at + 1, "x");
    REQUIRE(find_metric_key(key) != nullptr);
    CHECK(find_metric_key(key)->key == row.key);
    CHECK_FALSE(row.unit.empty());
    CHECK_FALSE(row.definition.empty());
  }
}

TEST_SUITE_END();
