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

TEST_CASE("the tree of a lost rank is gone within 5 s") {
  CHECK(duration_of(deadline::after_loss) + duration_of(deadline::terminate)
        < milliseconds{5000});
}

TEST_CASE("the launcher waits longer than the coordinator that it waits for") {
  CHECK(duration_of(deadline::after_abort) > duration_of(deadline::abort));
  CHECK(duration_of(deadline::after_report) > duration_of(deadline::control));
}

TEST_SUITE_END();
