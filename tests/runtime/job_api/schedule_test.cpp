// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_api/schedule.hpp"

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.job_api.schedule");

using troupe::runtime::config::optimizer_block;
using troupe::runtime::job_api::learning_rate;

namespace {

optimizer_block optimizer(const char* schedule, std::int64_t warmup_steps) {
  optimizer_block b;
  b.learning_rate = 1.0;
  b.min_learning_rate = 0.1;
  b.schedule = schedule;
  b.warmup_steps = warmup_steps;
  b.decay_steps = 4;
  return b;
}

} // namespace

TEST_CASE("a schedule goes from its first rate to its last") {
  struct expectation {
    const char* schedule;
    std::int64_t warmup_steps, step, num_steps;
    double rate;
  };
  const expectation table[] = {
    // no warm-up: the full rate at once, the lowest at the last step
    {"constant", 0, 0, 11, 1.0},
    {"constant", 0, 10, 11, 1.0},
    {"linear", 0, 0, 11, 1.0},
    {"linear", 0, 5, 11, 0.55},
    {"linear", 0, 10, 11, 0.1},
    {"cosine", 0, 0, 11, 1.0},
    {"cosine", 0, 5, 11, 0.55},
    {"cosine", 0, 10, 11, 0.1},
    // a quarter of the way, cosine is above linear
    {"linear", 0, 1, 5, 0.775},
    {"cosine", 0, 1, 5, 0.1 + 0.9 * 0.5 * (1 + 0.70710678118654752)},
    // a warm-up of four: no step has rate 0, step 4 has the full one
    {"constant", 4, 0, 15, 0.2},
    {"constant", 4, 3, 15, 0.8},
    {"constant", 4, 4, 15, 1.0},
    {"linear", 4, 4, 15, 1.0},
    {"linear", 4, 9, 15, 0.55},
    {"linear", 4, 14, 15, 0.1},
    {"cosine", 4, 14, 15, 0.1},
    // one step, and steps past the end
    {"linear", 0, 0, 1, 1.0},
    {"linear", 0, 30, 11, 0.1},
    {"cosine", 0, 30, 11, 0.1},
    // stable until the last four steps, each a quarter of the way
    {"wsd", 2, 1, 11, 2.0 / 3},
    {"wsd", 2, 2, 11, 1.0},
    {"wsd", 2, 6, 11, 1.0},
    {"wsd", 2, 7, 11, 0.775},
    {"wsd", 2, 10, 11, 0.1},
    {"wsd", 2, 30, 11, 0.1},
    // a warm-up as long as the run
    {"linear", 5, 4, 5, 5.0 / 6},
  };
  for (const auto& row : table) {
    CAPTURE(row.schedule);
    CAPTURE(row.warmup_steps);
    CAPTURE(row.step);
    CHECK(learning_rate(optimizer(row.schedule, row.warmup_steps), row.step,
                        row.num_steps)
          == doctest::Approx(row.rate).epsilon(1e-12));
  }
}

TEST_SUITE_END();
