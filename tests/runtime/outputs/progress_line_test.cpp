// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/progress_line.hpp"

#include <sstream>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::outputs;

TEST_SUITE_BEGIN("runtime.outputs.progress_line");

namespace {

struct fixture {
  std::ostringstream out;
  double now = 100;

  progress_line line(progress_style style) {
    return {out, style, [this] { return std::chrono::duration<double>{now}; }};
  }
};

} // namespace

TEST_CASE("piped, each step is a line") {
  fixture f;
  auto line = f.line(progress_style::plain);

  line.update({.stage = "train", .step = 1, .num_steps = 100, .loss = 0.25});
  f.now += 2;
  line.update({.stage = "train",
               .step = 2,
               .num_steps = 100,
               .reward = 0.5,
               .tokens_per_s = 1234.4});
  line.print("a message");
  line.finish();

  CHECK(f.out.str()
        == "train 1/100  loss 0.2500\n"
           "train 2/100  reward 0.500  1234 tokens/s  3 min 16 s left\n"
           "a message\n");
}

TEST_CASE("on a terminal one line is drawn over, and stays at the end") {
  fixture f;
  auto line = f.line(progress_style::live);

  line.update({.stage = "train", .step = 1, .num_steps = 2});
  line.print("a message");
  line.finish();
  line.finish();

  CHECK(f.out.str()
        == "\r\x1b[Ktrain 1/2"
           "\r\x1b[Ka message\ntrain 1/2"
           "\n");
}

TEST_CASE("the time left follows the last twenty steps of the stage") {
  fixture f;
  auto line = f.line(progress_style::plain);
  for (std::int64_t step = 1; step <= 60; ++step) {
    f.now += step <= 30 ? 100 : 60;
    f.out.str("");
    line.update({.stage = "train", .step = step, .num_steps = 120});
  }
  CHECK(f.out.str() == "train 60/120  1 h 0 min left\n");

  f.out.str("");
  line.update({.stage = "eval", .step = 61, .num_steps = 62});
  CHECK(f.out.str() == "eval 61/62\n");
}

TEST_SUITE_END();
