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

constexpr auto rollout_name = "rollout/dp=0";
constexpr auto shard_name = "shard/dp=0";

/// A rank that generates once, trains once and ends.
journal_builder sound_rank() {
  journal_builder rank{"rank-0"};
  rank.move("control", "journal", "none", "journal_opened", "open");
  const auto has_weights = rank.move("weights", shard_name, "inference",
                                     "version_loaded", "inference");
  rank.move("rollout", rollout_name, "unpublished", "weights_changed", "ready",
            {cause_type::message, has_weights, shard_name});
  rank.move("rollout", rollout_name, "ready", "generate_requested",
            "generating");
  rank.move("rollout", rollout_name, "generating", "group_finished", "ready");
  rank.move("weights", shard_name, "inference", "update_requested", "training");
  rank.move("weights", shard_name, "training", "update_finished", "inference");
  rank.close();
  return rank;
}

/// "rule at where: text" of each finding, one a line.
std::string check(std::vector<process_journal> journals) {
  std::string text;
  for (const auto& f : check_journals(journals))
    text += f.rule + " at " + f.where + ": " + f.text + "\n";
  return text;
}

std::string check(journal_builder& one) {
  return check({one.journal()});
}

} // namespace

TEST_SUITE_BEGIN("runtime.journal.check");

TEST_CASE("a sound journal has no findings") {
  auto rank = sound_rank();
  CHECK(check(rank).empty());
}

TEST_CASE("a move that is no row of its table is found") {
  auto rank = sound_rank();
  rank.at(3).what.event = "weights_torn";
  const auto text = check(rank);
  CHECK(contains(text, "edge at rank-0/4: rollout/dp=0: machine 'rollout': "
                       "'weights_torn' does not lead from 'ready' to "
                       "'generating'"));
}

TEST_CASE("a state that no table has is found") {
  auto rank = sound_rank();
  rank.at(3).what.to = rank.at(4).what.from = "dreaming";
  CHECK(contains(check(rank), "machine 'rollout' has no state 'dreaming'"));
}

TEST_CASE("a subject that jumps is found") {
  auto rank = sound_rank();
  rank.journal().records.erase(rank.journal().records.begin() + 4);
  for (std::size_t i = 4; i < rank.journal().records.size(); ++i)
    --rank.at(i).seq;
  rank.journal().records.pop_back();
  auto r = rank.at(3);
  r.seq = rank.journal().records.back().seq + 1;
  rank.journal().records.push_back(r); // generates again, from ready
  CHECK(contains(check(rank),
                 "chain at rank-0/7: rollout/dp=0: rollout was 'generating', "
                 "this move is from 'ready'"));
}

TEST_CASE("a missing number is found") {
  auto rank = sound_rank();
  rank.journal().records.erase(rank.journal().records.begin() + 6);
  CHECK(check(rank)
        == "seq at rank-0/8: number 8 follows 6: records are missing and no "
           "gap record names them\n");
}

TEST_CASE("a number that comes twice is found") {
  auto rank = sound_rank();
  rank.at(7).seq = 7;
  CHECK(check(rank)
        == "seq at rank-0/7: number 7 follows 7: out of order, or twice\n");
}

TEST_CASE("a journal that does not begin at one is found") {
  auto rank = sound_rank();
  rank.journal().records.erase(rank.journal().records.begin());
  CHECK(contains(check(rank), "seq at rank-0/2: number 2 follows 0"));
  SUBCASE("but not after its oldest file was removed") {
    rank.journal().starts_late = true;
    CHECK(check(rank).empty());
  }
}

TEST_CASE("what a gap record names is not missing, and states are open") {
  auto rank = sound_rank();
  auto& records = rank.journal().records;
  records.erase(records.begin() + 3); // generating
  records[3].what = {
    .kind = "gap",
    .subject = "journal",
    .from = "open",
    .to = "open",
    .event = "dropped",
    .d = {{"first", std::uint64_t{4}}, {"dropped", std::uint64_t{2}}}};
  CHECK(check(rank).empty());
  SUBCASE("unless it names too few") {
    records[3].what.d[0].second = std::uint64_t{5};
    CHECK(contains(check(rank), "seq at rank-0/5"));
  }
}

TEST_CASE("a subject that does not begin at the beginning is found") {
  auto rank = sound_rank();
  rank.at(2).what = rank.at(3).what;
  rank.at(3).what = rank.at(4).what;
  rank.at(4).what = rank.at(2).what;
  CHECK(contains(check(rank),
                 "start at rank-0/3: rollout/dp=0: the first record of rollout "
                 "is from 'ready', it begins as 'unpublished'"));
}

TEST_CASE("another process may go on with a subject, as with a lost rank") {
  journal_builder rank{"rank-0"}, coordinator{"coordinator"};
  rank.move("rank", "rank-0", "spawned", "join_accepted", "joined");
  coordinator.move("rank", "rank-0", "joined", "process_lost", "lost");
  CHECK(check({rank.journal(), coordinator.journal()}).empty());
  CHECK(contains(check({coordinator.journal()}), "start at coordinator/1"));
}

TEST_CASE("a name may be used again after its end") {
  journal_builder rank{"rank-0"};
  for (int i = 0; i < 2; ++i) {
    rank.move("actor", "reward_pool", "starting", "started", "ready");
    rank.move("actor", "reward_pool", "ready", "failure_raised", "failed");
  }
  CHECK(check(rank).empty());
}

TEST_CASE("a new incarnation begins anew") {
  auto rank = sound_rank();
  rank.begin_incarnation();
  rank.move("control", "journal", "none", "journal_opened", "open");
  rank.move("rollout", rollout_name, "unpublished", "weights_changed", "ready");
  CHECK(check(rank).empty());
}

TEST_CASE("a record after the terminal record is found") {
  auto rank = sound_rank();
  rank.close();
  CHECK(check(rank)
        == "terminal at rank-0/9: a record after the terminal record "
           "rank-0/8\n");
}

TEST_CASE("a cause must exist and be older") {
  auto rank = sound_rank();
  auto& ref = rank.at(3).what.because.ref;
  SUBCASE("later") {
    ref = "rank-0/5";
    CHECK(check(rank)
          == "cause at rank-0/4: the cause rank-0/5 is not "
             "older\n");
  }
  SUBCASE("in a journal that was closed before that number") {
    ref = "coordinator/9";
    journal_builder coordinator{"coordinator"};
    coordinator.close();
    CHECK(check({coordinator.journal(), rank.journal()})
          == "cause at rank-0/4: the cause coordinator/9 does not exist\n");
  }
  SUBCASE("not written by a process that was killed: no finding") {
    ref = "coordinator/9";
    journal_builder coordinator{"coordinator"};
    coordinator.move("control", "journal", "none", "journal_opened", "open");
    CHECK(check({coordinator.journal(), rank.journal()}).empty());
  }
  SUBCASE("of a host whose journal is not here: no finding") {
    ref = "rank-9/9";
    CHECK(check(rank).empty());
  }
  SUBCASE("no reference at all") {
    ref = "yesterday";
    CHECK(contains(check(rank), "the cause 'yesterday' is no reference"));
  }
}

TEST_CASE("rule 6: generating while the weights are in training is found") {
  journal_builder rank{"rank-0"};
  rank.move("rollout", rollout_name, "unpublished", "weights_changed", "ready");
  rank.move("weights", shard_name, "inference", "update_requested", "training");
  rank.move("rollout", rollout_name, "ready", "generate_requested",
            "generating");
  CHECK(check(rank)
        == "weights at rank-0/3: rollout/dp=0: generates while its weights "
           "are training\n");
  SUBCASE("but not if they are another rank's") {
    rank.at(1).what.subject = "shard/dp=1";
    CHECK(check(rank).empty());
  }
}

TEST_CASE("rule 6: an update that begins while a rollout generates is found") {
  journal_builder rank{"rank-0"};
  rank.move("rollout", rollout_name, "unpublished", "weights_changed", "ready");
  rank.move("rollout", rollout_name, "ready", "generate_requested",
            "generating");
  rank.move("weights", shard_name, "inference", "update_requested", "training");
  CHECK(check(rank)
        == "weights at rank-0/3: shard/dp=0: an update begins while the "
           "rollout is generating\n");
}

TEST_CASE("rule 2: generating in a cache that is given back is found") {
  journal_builder rank{"rank-0"};
  rank.move("rollout", rollout_name, "unpublished", "weights_changed", "ready");
  rank.move("cache", "cache/dp=0", "unallocated", "close_requested", "closed");
  rank.move("rollout", rollout_name, "ready", "generate_requested",
            "generating");
  CHECK(check(rank)
        == "cache at rank-0/3: rollout/dp=0: generates while its cache is "
           "closed\n");
}

TEST_CASE("a group dispatched after the shutdown began is found") {
  journal_builder coordinator{"coordinator"};
  coordinator.move("group", "0/1/0", "queued", "group_dispatched",
                   "generating");
  CHECK(check(coordinator).empty());
  coordinator.move("shutdown", "shutdown", "idle", "shutdown_requested", "s1");
  coordinator.move("group", "0/2/0", "queued", "group_dispatched",
                   "generating");
  CHECK(check(coordinator)
        == "admission at coordinator/3: 0/2/0: dispatched while the shutdown "
           "is in s1\n");
}

TEST_CASE("the command reads files, prints file and line, and exits with 1") {
  const temporary_folder run;
  auto rank = sound_rank();
  std::ofstream file{run / "rank-0.jsonl"};
  for (std::size_t i = 0; i < 8; ++i)
    file << (i == 3 ? "rubbish" : to_line(rank.at(i))) << '\n';
  file.close();

  std::ostringstream out;
  CHECK(check_journal(run.path(), out) == 1);
  CHECK(contains(out.str(),
                 (run / "rank-0.jsonl").string() + ":4: line: not a record: "));
  CHECK(contains(out.str(), "rank-0/5: seq: number 5 follows 3"));
  CHECK(contains(out.str(), "7 records of 1 processes: 3 findings\n"));
}

TEST_CASE("a folder without a journal is exit code 2 and says so") {
  const temporary_folder empty;
  std::ostringstream out;
  CHECK(check_journal(empty.path(), out) == 2);
  CHECK(out.str()
        == "no journal record in " + empty.path().string()
             + ": neither DIR/journal/*.jsonl nor DIR/*.jsonl\n");
}

TEST_SUITE_END();
