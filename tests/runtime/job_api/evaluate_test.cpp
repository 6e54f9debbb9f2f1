// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_api/evaluate.hpp"

#include "tests/runtime/job_api/fake_job.hpp"

#include <bit>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.job_api.evaluate");

using namespace troupe::runtime::job_api;
using lines = std::vector<std::string>;

namespace {

/// The share of all choices of k out of n that hold one of the first c.
double counted(unsigned n, unsigned c, int k) {
  double all = 0, with_one = 0;
  for (unsigned choice = 0; choice < 1U << n; ++choice)
    if (std::popcount(choice) == k) {
      ++all;
      with_one += (choice & ((1U << c) - 1)) != 0;
    }
  return with_one / all;
}

} // namespace

TEST_CASE("pass@k is the share of all choices that hold a correct one") {
  for (unsigned n = 1; n <= 10; ++n)
    for (unsigned c = 0; c <= n; ++c)
      for (unsigned k = 1; k <= n; ++k)
        CHECK(pass_at_k(n, c, k)
              == doctest::Approx(counted(n, c, static_cast<int>(k))));
  CHECK(pass_at_k(4096, 1, 1) == doctest::Approx(1.0 / 4096));
}

TEST_CASE("a large evaluation is asked for in parts of 64 prompts") {
  fake_job j;
  j.settings.eval.max_prompts = 130;

  const auto values = evaluate(j, "heldout");

  CHECK(j.calls_of("generate")
        == lines{"generate eval 64 x 1", "generate eval 64 x 1",
                 "generate eval 2 x 1"});
  CHECK(j.calls_of("consume")
        == lines{"consume 64", "consume 64", "consume 2"});
  CHECK(values.at("eval/heldout_accuracy") == 0.5);
  CHECK(values.at("eval/heldout_prompts") == 130);
  CHECK(values.at("eval/heldout_completion_tokens_mean") == 2);
}

TEST_CASE("several samples give their mean and pass@k, in smaller parts") {
  fake_job j;
  j.settings.eval.max_prompts = 3;
  j.settings.eval.samples_per_prompt = 1024;
  j.settings.eval.pass_at = {1, 2};
  j.reward = [](std::uint32_t sample) { return sample < 2 ? 1.0F : 0.0F; };

  const auto values = evaluate(j, "heldout");

  CHECK(j.calls_of("generate")
        == lines{"generate eval 2 x 1024", "generate eval 1 x 1024"});
  // Rows 0 and 1 have two and one correct, row 2 none.
  CHECK(values.at("eval/heldout_accuracy")
        == doctest::Approx((2.0 + 1.0) / 1024 / 3));
  CHECK(values.at("eval/heldout_pass_at_1")
        == doctest::Approx(values.at("eval/heldout_accuracy")));
  CHECK(
    values.at("eval/heldout_pass_at_2")
    == doctest::Approx((pass_at_k(1024, 2, 2) + pass_at_k(1024, 1, 2)) / 3));
}

TEST_SUITE_END();
