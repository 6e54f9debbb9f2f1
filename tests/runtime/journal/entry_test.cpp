// SPDX-License-Identifier: Apache-2.0
#include "runtime/journal/entry.hpp"

#include <limits>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::journal;

namespace {

entry full_entry() {
  entry r;
  r.run = "run-7";
  r.process = "rank-0";
  r.incarnation = 2;
  r.seq = 17;
  r.realtime_ns = 1'700'000'000'000'000'007;
  r.mono_ns = 123;
  r.what = {.kind = "rollout",
            .subject = "rollout/dp=0",
            .from = "ready",
            .to = "generating",
            .event = "generate_requested",
            .because = {cause_type::by_operator, "coordinator/4", "SIGINT"},
            .step = 3,
            .policy_version = 0,
            .job_epoch = 1,
            .d = {{"n", std::uint64_t{8}},
                  {"gap", std::numeric_limits<double>::quiet_NaN()},
                  {"low", -std::numeric_limits<double>::infinity()},
                  {"why", std::string{"a \"quote\""}}}};
  return r;
}

std::string reason_of(const std::string& line) {
  const auto parsed = parse_line(line);
  const auto* reason = std::get_if<std::string>(&parsed);
  return reason == nullptr ? "" : *reason;
}

std::string replaced(std::string text, const std::string& what,
                     const std::string& by) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

} // namespace

TEST_SUITE_BEGIN("runtime.journal.entry");

TEST_CASE("a record is one line with the documented fields") {
  CHECK(
    to_line(full_entry())
    == R"({"v":1,"run":"run-7","proc":"rank-0","inc":2,"seq":17,)"
       R"("t":"2023-11-14T22:13:20.000000007Z","mono":123,"kind":"rollout",)"
       R"("subj":"rollout/dp=0","from":"ready","to":"generating",)"
       R"("event":"generate_requested","cause":{"type":"operator",)"
       R"("ref":"coordinator/4","by":"SIGINT"},"step":3,"ver":0,"epoch":1,)"
       R"("d":{"n":8,"gap":"nan","low":"-inf","why":"a \"quote\""}})");
}

TEST_CASE("a line reads back as it was written") {
  const auto line = to_line(full_entry());
  const auto parsed = parse_line(line);
  REQUIRE(std::holds_alternative<entry>(parsed));
  CHECK(to_line(std::get<entry>(parsed)) == line);
}

TEST_CASE("what is not known is left out") {
  entry r;
  r.what.kind = "job";
  const auto line = to_line(r);
  for (const auto* key : {"cause", "step", "ver", "epoch", "\"d\""})
    CHECK(line.find(key) == std::string::npos);
}

TEST_CASE("a line that is no record says why") {
  const auto line = to_line(full_entry());
  CHECK(reason_of(replaced(line, "\"v\":1", "\"v\":2"))
        == "record version 2, this program reads 1");
  CHECK(reason_of(replaced(line, "2023-11", "soon"))
        == "t is no UTC time: soon-14T22:13:20.000000007Z");
  CHECK(reason_of(replaced(line, "operator", "luck"))
        == "unknown cause type luck");
  CHECK(reason_of(replaced(line, "\"seq\":17,", "")).find("'seq'")
        != std::string::npos);
  CHECK(reason_of("{\"v\":1").find("syntax error") != std::string::npos);
}

TEST_CASE("bytes that are no UTF-8 do not break a record") {
  auto r = full_entry();
  r.what.because.by = "\xff\xfe";
  CHECK(std::holds_alternative<entry>(parse_line(to_line(r))));
}

TEST_CASE("a reference names the incarnation from the second on") {
  CHECK(reference("rank-0", 1, 17) == "rank-0/17");
  CHECK(reference(full_entry()) == "rank-0:2/17");
}

TEST_SUITE_END();
