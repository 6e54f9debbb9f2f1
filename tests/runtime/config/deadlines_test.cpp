// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/deadlines.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::config;
using std::chrono::milliseconds;

TEST_SUITE_BEGIN("runtime.config.deadlines");

TEST_CASE("the scale multiplies every deadline") {
  for (const auto& row : deadlines) {
    CAPTURE(row.name);
    CHECK(row.duration > milliseconds{0});
    CHECK_FALSE(row.waits_on.empty());
    CHECK(duration_of(row.id) == row.duration);
    CHECK(duration_of(row.id, 0.5) == row.duration / 2);
    CHECK(duration_of(row.id, 3) == row.duration * 3);
  }
}

TEST_CASE("a lost process is noticed and its tree reaped within 5 s") {
  CHECK(duration_of(deadline::abort_tree) + duration_of(deadline::kill_tree)
        <= milliseconds{5000});
  CHECK(duration_of(deadline::heartbeat) < milliseconds{5000});
}

TEST_SUITE_END();
