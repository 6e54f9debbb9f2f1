// SPDX-License-Identifier: Apache-2.0
#include "actors/memory_ledger.hpp"

#include "tests/support/failure_of.hpp"

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("actors.memory_ledger");

using troupe::actors::memory_ledger;
using troupe::tests::failure_of;

TEST_CASE("grants are given up to the last byte of the budget") {
  memory_ledger ledger{100};

  const auto first = ledger.reserve("trainer", "weights", 60);
  const auto second = ledger.reserve("cache owner", "KV cache", 40);

  CHECK(first != second);
  CHECK(ledger.held_bytes() == 100);
}

TEST_CASE("a refusal names the request and the rest and every holder") {
  memory_ledger ledger{100};
  ledger.reserve("trainer", "weights", 60);
  ledger.reserve("cache owner", "KV cache", 30);

  CHECK(failure_of([&] { ledger.reserve("reference", "weights", 11); })
        == "memory_refused: reference asks for 11 bytes for weights; of 100 "
           "bytes 10 are left"
           "\n  trainer holds 60 bytes for weights"
           "\n  cache owner holds 30 bytes for KV cache");
  CHECK(ledger.held_bytes() == 90);
  ledger.reserve("reference", "weights", 10);
  CHECK(ledger.held_bytes() == 100);
}

TEST_CASE("a sum that does not fit 64 bits is refused like any other") {
  memory_ledger ledger{100};
  ledger.reserve("trainer", "weights", 60);

  CHECK(failure_of([&] { ledger.reserve("rollout", "slots", UINT64_MAX); })
          .starts_with("memory_refused: rollout asks for "
                       "18446744073709551615 bytes"));
}

TEST_CASE("what is given up can be granted again but not given up again") {
  memory_ledger ledger{100};
  const auto id = ledger.reserve("cache owner", "KV cache", 100);

  CHECK(ledger.give_up(id) == 100);
  CHECK(ledger.give_up(id) == 0);
  CHECK(ledger.held_bytes() == 0);
  CHECK(ledger.reserve("cache owner", "KV cache", 100) != id);
}

TEST_CASE("a grant that replaces another counts once, or changes nothing") {
  memory_ledger ledger{100};
  const auto small = ledger.reserve("cache owner", "KV cache", 40);
  ledger.reserve("trainer", "weights", 30);

  CHECK(
    failure_of([&] { ledger.reserve("cache owner", "KV cache", 71, small); })
    == "memory_refused: cache owner asks for 71 bytes for KV cache; of 100 "
       "bytes 70 are left"
       "\n  trainer holds 30 bytes for weights");
  CHECK(ledger.held_bytes() == 70);

  const auto large = ledger.reserve("cache owner", "KV cache", 70, small);
  CHECK(ledger.held_bytes() == 100);
  CHECK(ledger.give_up(small) == 0);
  CHECK(ledger.give_up(large) == 70);
}

TEST_CASE("the limit is that of this machine or less") {
  CHECK(troupe::actors::memory_limit_bytes() > (1u << 20));
}

TEST_SUITE_END();
