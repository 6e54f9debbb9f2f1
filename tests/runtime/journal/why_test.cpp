// SPDX-License-Identifier: Apache-2.0
#include "runtime/journal/check.hpp"
#include "tests/runtime/journal/journal_builder.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>
#include <sstream>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::journal;
using troupe::tests::contains;
using troupe::tests::journal_builder;
using troupe::tests::temporary_folder;

namespace {

void save(const temporary_folder& run, journal_builder& one) {
  std::ofstream file{run / (one.journal().process + ".jsonl")};
  for (const auto& r : one.journal().records)
    file << to_line(r) << '\n';
}

struct answer {
  int code;
  std::string text;
};

answer why(const temporary_folder& run, const std::string& id) {
  std::ostringstream out;
  const int code = why_journal(run.path(), id, out);
  return {code, out.str()};
}

/// The text without its times of day, which depend on the time zone.
std::string without_times(std::string text) {
  for (auto at = text.find(".000  "); at != std::string::npos;
       at = text.find(".000  "))
    text.erase(at - 8, 14);
  return text;
}

} // namespace

TEST_SUITE_BEGIN("runtime.journal.why");

TEST_CASE("the chain leads from a record through processes to the root") {
  const temporary_folder run;
  journal_builder coordinator{"coordinator"}, rank{"rank-0"};
  const auto root =
    coordinator.move("shutdown", "shutdown", "idle", "shutdown_requested", "s1",
                     {cause_type::by_operator, "", "SIGINT"});
  const auto drain =
    rank.move("rank", "rank-0", "ready", "drain_requested", "draining",
              {cause_type::message, root, "coordinator"});
  rank.move("rollout", "rollout/dp=0", "ready", "drain_requested", "draining",
            {cause_type::message, drain, "rank-0/supervisor"});
  save(run, coordinator);
  save(run, rank);
  const std::string expected =
    "rank-0/2  rollout/dp=0  rollout ready -> draining  by "
    "drain_requested\n"
    "  because: message rank-0/supervisor\n"
    "rank-0/1  rank-0  rank ready -> draining  by drain_requested\n"
    "  because: message coordinator\n"
    "coordinator/1  shutdown  shutdown idle -> s1  by shutdown_requested\n"
    "  because: operator SIGINT\n";

  SUBCASE("of a record") {
    CHECK(why(run, "rank-0/2").code == 0);
    CHECK(without_times(why(run, "rank-0/2").text) == expected);
  }
  SUBCASE("of the last record of a subject") {
    CHECK(without_times(why(run, "rollout/dp=0").text) == expected);
  }
}

TEST_CASE("a cause that is not in the journals ends the chain, and says so") {
  const temporary_folder run;
  journal_builder rank{"rank-0"};
  rank.move("rank", "rank-0", "ready", "drain_requested", "draining",
            {cause_type::message, "coordinator/88", ""});
  save(run, rank);
  const auto [code, text] = why(run, "rank-0/1");
  CHECK(code == 0);
  CHECK(contains(text, "coordinator/88  this record is not in the journals"));
}

TEST_CASE("a long chain is shown in parts, each with the way to the next") {
  const temporary_folder run;
  journal_builder rank{"rank-0"};
  for (int i = 1; i <= 100; ++i)
    rank.move(
      "link", "l", "", "x", "",
      {cause_type::rule, i == 1 ? "" : reference("rank-0", 1, i - 1), ""});
  save(run, rank);

  const auto text = why(run, "rank-0/100").text;
  CHECK(contains(text, "rank-0/61  "));
  CHECK_FALSE(contains(text, "rank-0/60  "));
  CHECK(text.ends_with("and so on, 40 records shown; go on with: troupe "
                       "journal why "
                       + run.path().string() + " rank-0/60\n"));
  CHECK(contains(why(run, "rank-0/40").text, "rank-0/1  "));
}

TEST_CASE("a command is a record without states") {
  const temporary_folder run;
  journal_builder loop{"coordinator"};
  loop.move("script", "loop", "", "train", "",
            {cause_type::rule, "", "the loop's program"});
  save(run, loop);
  CHECK(without_times(why(run, "loop").text)
        == "coordinator/1  loop  script train\n"
           "  because: rule the loop's program\n");
}

TEST_CASE("causes in a circle end the chain") {
  const temporary_folder run;
  journal_builder rank{"rank-0"};
  rank.move("link", "a", "", "x", "", {cause_type::rule, "rank-0/2", ""});
  rank.move("link", "b", "", "y", "", {cause_type::rule, "rank-0/1", ""});
  save(run, rank);
  CHECK(contains(why(run, "rank-0/1").text, "these causes form a circle"));
}

TEST_CASE("an id of nothing is exit code 2 and shows what an id looks like") {
  const temporary_folder run;
  CHECK(why(run, "rank-0/9").code == 2);
  CHECK(why(run, "rank-0/9").text
        == "no record or subject 'rank-0/9' in " + run.path().string()
             + "; an id looks like rank-0/17 (see: troupe inspect "
               "journal)\n");
}

TEST_SUITE_END();
