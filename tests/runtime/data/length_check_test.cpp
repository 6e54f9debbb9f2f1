// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/length_check.hpp"

#include "tests/support/expect_failure.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::data;
using troupe::protocols::errc;
using troupe::tests::expect_failure;

TEST_SUITE_BEGIN("runtime.data.length_check");

TEST_CASE("P59 one over-long prompt is found before step 0, wherever it is") {
  const auto check_with_bad = [](std::size_t bad, std::int64_t limit) {
    length_check check{{limit, "prompts", "raise rollout.max_prompt_tokens"}};
    for (std::size_t i = 1; i <= 10000; ++i)
      check.add("rows.jsonl:" + std::to_string(i), i == bad ? 6 : 4);
    check.finish("rows.jsonl", 10000);
  };
  for (std::size_t bad = 1; bad <= 10000; bad += 33)
    expect_failure(errc::prompt_too_long,
                   {"rows.jsonl: 1 of 10000 prompts", "more than 5 tokens",
                    "rollout.max_prompt_tokens",
                    "rows.jsonl:" + std::to_string(bad) + ": 6 tokens"},
                   [&] { check_with_bad(bad, 5); });
  CHECK_NOTHROW(check_with_bad(1, 6));
}

TEST_CASE("of many over-long prompts all are counted and ten listed") {
  length_check check{{8, "rows", "raise it"}};
  for (int i = 1; i <= 12; ++i)
    check.add("rows.jsonl:" + std::to_string(i), 9);

  const auto text =
    expect_failure(errc::prompt_too_long, {"12 of 12", "rows.jsonl:10: 9"},
                   [&check] { check.finish("rows.jsonl", 12); });

  CHECK(text.find("rows.jsonl:11:") == std::string::npos);
}

TEST_SUITE_END();
