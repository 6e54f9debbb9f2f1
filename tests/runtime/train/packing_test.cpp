// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/packing.hpp"

#include "tests/support/failure_of.hpp"

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.train.packing");

using namespace troupe::runtime::train;
using ids = std::vector<std::int32_t>;

namespace {

const ids prompt_a{10, 11, 12}, completion_a{13, 14};
const ids prompt_b{20}, completion_b{21};
const ids prompt_c{30, 31}, completion_c{32, 33, 34};
const std::vector<sequence> three{
  {prompt_a, completion_a}, {prompt_b, completion_b}, {prompt_c, completion_c}};

} // namespace

TEST_CASE("sequences lie below each other without their last token") {
  const auto packs = pack(three, 100);

  REQUIRE(packs.size() == 1);
  CHECK(packs[0].ids == ids{10, 11, 12, 13, 20, 30, 31, 32, 33});
  CHECK(packs[0].positions == ids{0, 1, 2, 3, 0, 0, 1, 2, 3});
  CHECK(packs[0].offsets == ids{0, 4, 5, 9});
  CHECK(packs[0].first_token == 0);
}

TEST_CASE("the row before a completion token has it as its target") {
  const auto packs = pack(three, 100);

  REQUIRE(packs.size() == 1);
  CHECK(packs[0].rows == ids{2, 3, 4, 6, 7, 8});
  CHECK(packs[0].targets == ids{13, 14, 21, 32, 33, 34});
}

TEST_CASE("a microbatch ends before the sequence that would not fit") {
  struct expectation {
    std::int64_t max_rows;
    std::vector<ids> offsets;
    std::vector<std::size_t> first_tokens;
  };
  const expectation table[] = {
    {9, {{0, 4, 5, 9}}, {0}},
    {8, {{0, 4, 5}, {0, 4}}, {0, 3}},
    {5, {{0, 4, 5}, {0, 4}}, {0, 3}},
    {4, {{0, 4}, {0, 1}, {0, 4}}, {0, 2, 3}},
  };
  for (const auto& row : table) {
    CAPTURE(row.max_rows);
    std::vector<ids> offsets;
    std::vector<std::size_t> first_tokens;
    for (const auto& part : pack(three, row.max_rows)) {
      offsets.push_back(part.offsets);
      first_tokens.push_back(part.first_token);
    }
    CHECK(offsets == row.offsets);
    CHECK(first_tokens == row.first_tokens);
  }
}

TEST_CASE("completions of one prompt share its rows within a microbatch") {
  const ids same = prompt_a; // equal ids elsewhere in memory
  const std::vector<sequence> group{{prompt_a, completion_a},
                                    {same, completion_b},
                                    {prompt_a, completion_c},
                                    {prompt_c, completion_a},
                                    {prompt_a, completion_c}};
  const auto packs = pack(group, 100);

  REQUIRE(packs.size() == 1);
  const auto& p = packs[0];
  CHECK(p.ids == ids{10, 11, 12, 13, 32, 33, 30, 31, 13, 10, 11, 12, 32, 33});
  CHECK(p.positions == ids{0, 1, 2, 3, 3, 4, 0, 1, 2, 0, 1, 2, 3, 4});
  CHECK(p.offsets == ids{0, 4, 4, 6, 9, 14});
  CHECK(p.rows == ids{2, 3, 2, 2, 4, 5, 7, 8, 11, 12, 13});
  CHECK(p.targets == ids{13, 14, 21, 32, 33, 34, 13, 14, 32, 33, 34});
  ids prefixes;
  for (const auto& [begin, end] : p.prefixes) {
    prefixes.push_back(begin);
    prefixes.push_back(end);
  }
  CHECK(prefixes == ids{0, 0, 0, 3, 0, 3, 0, 0, 0, 0});
}

TEST_CASE("a prompt is computed again in the next microbatch") {
  const std::vector<sequence> group{{prompt_a, completion_c},
                                    {prompt_a, completion_c},
                                    {prompt_a, completion_c}};
  const auto packs = pack(group, 7);

  REQUIRE(packs.size() == 2);
  CHECK(packs[0].offsets == ids{0, 5, 7});
  CHECK(packs[1].offsets == ids{0, 5});
  CHECK(packs[1].first_token == 6);
}

TEST_CASE("a sequence above the limit stands alone") {
  const auto packs = pack(three, 1);

  REQUIRE(packs.size() == 3);
  CHECK(packs[0].ids == ids{10, 11, 12, 13});
  CHECK(packs[1].ids == ids{20});
  CHECK(packs[2].ids == ids{30, 31, 32, 33});
}

TEST_CASE("nothing packs to nothing") {
  CHECK(pack({}, 4).empty());
}

TEST_CASE("an empty prompt or completion is refused with both lengths") {
  const ids none;
  const std::vector<sequence> no_prompt{{none, completion_a}};
  const std::vector<sequence> no_completion{{prompt_a, none}};

  CHECK(troupe::tests::failure_of([&] { pack(no_prompt, 4); })
        == "invalid_request: a sequence to train on has 0 prompt and 2 "
           "completion tokens; at least one of each is needed");
  CHECK(troupe::tests::failure_of([&] { pack(no_completion, 4); })
        == "invalid_request: a sequence to train on has 3 prompt and 0 "
           "completion tokens; at least one of each is needed");
}

TEST_SUITE_END();
