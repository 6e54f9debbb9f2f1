// SPDX-License-Identifier: Apache-2.0
#include "protocols/failure.hpp"
#include "runtime/rollout/rollout_request.hpp"

#include <cmath>
#include <functional>
#include <string>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.rollout_request");

using namespace troupe::runtime::rollout;
using troupe::kernels::purpose;
using troupe::protocols::errc;
using troupe::protocols::failure;

namespace {

constexpr request_limits limits{100, 2048, 96};

rollout_request valid_request() {
  rollout_request r;
  r.id = {1, 7, 0};
  r.prompt_ids = {0, 5, 99};
  r.sampling.max_new_tokens = 93; // 96 with the prompt: just fits
  return r;
}

} // namespace

TEST_CASE("a request at its limits is accepted") {
  auto r = valid_request();
  CHECK_NOTHROW(check_request(r, limits));
  r.sampling.min_new_tokens = 93;
  r.sampling.temperature = 0;
  r.sampling.top_k = 1000;
  r.sampling.stop_ids = {0, 99};
  CHECK_NOTHROW(check_request(r, limits));
}

TEST_CASE("what is out of range is named with its value and what is allowed") {
  struct row {
    const char* text;
    errc code;
    std::function<void(rollout_request&)> spoil;
  };
  const row rows[] = {
    {"prompt_ids is empty; allowed: 1 token or more", errc::invalid_request,
     [](auto& r) { r.prompt_ids.clear(); }},
    {"prompt_ids[1] is 100; allowed: 0 to 99 (the model's vocabulary)",
     errc::invalid_request, [](auto& r) { r.prompt_ids[1] = 100; }},
    {"prompt_ids[2] is -1; allowed: 0 to 99 (the model's vocabulary)",
     errc::invalid_request, [](auto& r) { r.prompt_ids[2] = -1; }},
    {"stop_ids[0] is 100; allowed: 0 to 99 (the model's vocabulary)",
     errc::invalid_request, [](auto& r) { r.sampling.stop_ids = {100}; }},
    {"num_samples is 0; allowed: 1 to 65536", errc::invalid_request,
     [](auto& r) { r.num_samples = 0; }},
    {"temperature is -1; allowed: 0 (greedy) to 100", errc::invalid_request,
     [](auto& r) { r.sampling.temperature = -1; }},
    {"temperature is nan; allowed: 0 (greedy) to 100", errc::invalid_request,
     [](auto& r) { r.sampling.temperature = NAN; }},
    {"top_p is 0; allowed: above 0, up to 1 (off)", errc::invalid_request,
     [](auto& r) { r.sampling.top_p = 0; }},
    {"top_p is 1.5; allowed: above 0, up to 1 (off)", errc::invalid_request,
     [](auto& r) { r.sampling.top_p = 1.5F; }},
    {"top_k is -1; allowed: 0 (off) or more", errc::invalid_request,
     [](auto& r) { r.sampling.top_k = -1; }},
    {"max_new_tokens is 0; allowed: 1 or more", errc::invalid_request,
     [](auto& r) { r.sampling.max_new_tokens = 0; }},
    {"min_new_tokens is 94; allowed: 0 to max_new_tokens, 93",
     errc::invalid_request, [](auto& r) { r.sampling.min_new_tokens = 94; }},
    {"use is 5; allowed: train, eval, generate", errc::invalid_request,
     [](auto& r) { r.use = purpose::shuffle; }},
    {"eval_name is ''; it names the evaluation, and is empty for all other "
     "uses",
     errc::invalid_request, [](auto& r) { r.use = purpose::eval; }},
    {"eval_name is 'dev'; it names the evaluation, and is empty for all other "
     "uses",
     errc::invalid_request, [](auto& r) { r.eval_name = "dev"; }},
    {"needs 3 prompt tokens plus max_new_tokens 94; allowed are 96 in all, the "
     "capacity of a cache slot. Shorten the prompt, lower max_new_tokens, or "
     "give the slots more capacity (rollout.max_prompt_tokens)",
     errc::capacity_exceeded, [](auto& r) { r.sampling.max_new_tokens = 94; }},
    {"needs 3 prompt tokens plus max_new_tokens 9223372036854775807; allowed "
     "are 96 in all, the capacity of a cache slot. Shorten the prompt, lower "
     "max_new_tokens, or give the slots more capacity "
     "(rollout.max_prompt_tokens)",
     errc::capacity_exceeded,
     [](auto& r) { r.sampling.max_new_tokens = INT64_MAX; }},
  };
  for (const auto& [text, code, spoil] : rows) {
    CAPTURE(text);
    auto r = valid_request();
    spoil(r);
    try {
      check_request(r, limits);
      FAIL_CHECK("accepted");
    } catch (const failure& f) {
      CHECK(f.what() == std::string("rollout request of group 1/7/0: ") + text);
      CHECK(f.code() == code);
    }
  }
}

TEST_CASE("a model with fewer positions than a slot is named as the limit") {
  auto r = valid_request();
  try {
    check_request(r, {100, 64, 96});
    FAIL_CHECK("accepted");
  } catch (const failure& f) {
    CHECK(f.what()
          == std::string(
            "rollout request of group 1/7/0: needs 3 prompt tokens plus "
            "max_new_tokens 93; allowed are 64 in all, the model's "
            "max_positions. Shorten the prompt, lower max_new_tokens, or take "
            "a model with more positions"));
  }
}

TEST_CASE("a stop list of the whole vocabulary leaves nothing to draw") {
  auto r = valid_request();
  r.prompt_ids = {0};
  r.sampling.stop_ids = {0, 1, 1};
  CHECK_NOTHROW(check_request(r, {2, 2048, 96}));
  r.sampling.min_new_tokens = 1;
  CHECK_THROWS_WITH_AS(
    check_request(r, {2, 2048, 96}),
    "rollout request of group 1/7/0: stop_ids are the whole vocabulary, so "
    "that min_new_tokens, 1, leaves nothing to draw",
    failure);
}

TEST_CASE("coordinates hold what a token's random number may depend on") {
  auto r = valid_request();
  r.use = purpose::eval;
  r.eval_name = "held_out";
  const auto at = coordinates_of(r, 42, 3, 17);
  CHECK(at.job_seed == 42);
  CHECK(at.use == purpose::eval);
  CHECK(at.eval_name_hash == eval_name_hash("held_out"));
  CHECK(at.data_pass == 1);
  CHECK(at.position_in_pass == 7);
  CHECK(at.attempt == 0);
  CHECK(at.sample_index == 3);
  CHECK(at.turn == 0);
  CHECK(at.position == 17);
  CHECK(eval_name_hash("held_out") != eval_name_hash("dev"));
  CHECK(eval_name_hash("") == 0x811c9dc5U); // FNV-1a's offset basis
}

TEST_SUITE_END();
