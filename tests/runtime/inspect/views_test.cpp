// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/views.hpp"

#include "runtime/inspect/card_file.hpp"
#include "runtime/inspect/last_state.hpp"
#include "runtime/inspect/text_table.hpp"
#include "runtime/journal/writer.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <sstream>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime;
using namespace troupe::runtime::inspect;
using troupe::tests::contains;
using troupe::tests::failure_of;
using troupe::tests::temporary_folder;
using namespace std::chrono_literals;

namespace {

/// A coordinator with a child actor, and a rank that it owns.
struct small_run {
  temporary_folder folder;
  std::shared_ptr<card_file> cards = card_file::create(
    folder.path(), "coordinator", process_kind::coordinator, "run-7");
  std::shared_ptr<card_file> rank_cards =
    card_file::create(folder.path(), "rank-0", process_kind::rank, "run-7");
  card root = cards->add("coordinator", "coordinator", "");
  card pool = cards->add("reward_pool", "reward_pool", "coordinator");
  card rank = rank_cards->add("rank-0/supervisor", "supervisor", "coordinator");

  [[nodiscard]] nlohmann::json json_of(int (*view)(const std::filesystem::path&,
                                                   view_format,
                                                   std::ostream&)) const {
    std::ostringstream out;
    CHECK(view(folder.path(), view_format::json, out) == 0);
    return nlohmann::json::parse(out.str());
  }
  [[nodiscard]] std::string text_of(int (*view)(const std::filesystem::path&,
                                                view_format,
                                                std::ostream&)) const {
    std::ostringstream out;
    CHECK(view(folder.path(), view_format::text, out) == 0);
    return out.str();
  }
};

std::string refusal_of(const std::optional<std::filesystem::path>& given) {
  return failure_of([&] { find_run_directory(given); });
}

/// Puts the current folder back at the end.
struct inside {
  std::filesystem::path before = std::filesystem::current_path();
  explicit inside(const std::filesystem::path& folder) {
    std::filesystem::current_path(folder);
  }
  ~inside() { std::filesystem::current_path(before); }
};

} // namespace

TEST_SUITE_BEGIN("runtime.inspect.views");

TEST_CASE("ages are short and keep two parts") {
  CHECK(age_text(0ms) == "0.0s");
  CHECK(age_text(4123ms) == "4.1s");
  CHECK(age_text(59949ms) == "59.9s");
  CHECK(age_text(59951ms) == "0m59s");
  CHECK(age_text(724s) == "12m04s");
  CHECK(age_text(11220s) == "3h07m");
  CHECK(age_text(48h + 5h) == "2d05h");
}

TEST_CASE("columns are aligned, also past two-byte characters") {
  text_table table{{"name", ">n"}};
  table.add({"größe", "7"});
  table.add({"a\nb", "123"});
  std::ostringstream out;
  table.print(out);
  CHECK(out.str() == "name     n\ngröße    7\na b    123\n");
}

TEST_CASE("actors are listed with states, activity and errors") {
  const small_run run;
  run.root.set_state("job", "running");
  run.pool.begin_handler("grade");
  run.pool.set_error("reward_timeout: no answer in 5 s");

  const auto text = run.text_of(inspect_actors);
  CHECK(contains(text, "run run-7 in"));
  CHECK(contains(text, "2 processes, 2 running"));
  CHECK(contains(text, "job=running 0."));
  CHECK(contains(text, "grade 0."));
  CHECK(contains(text, "error: reward_timeout: no answer in 5 s"));

  const auto json = run.json_of(inspect_actors);
  CHECK(json.at("complete") == true);
  CHECK(json.at("missing").empty());
  CHECK(json.at("as_of").get<double>() > 1.7e9);
  const auto& pool = json.at("processes").at(0).at("actors").at(1);
  CHECK(pool.at("name") == "reward_pool");
  CHECK(pool.at("handler") == "grade");
  CHECK(pool.at("failures") == 1);
  CHECK(pool.at("step").is_null());
}

TEST_CASE("an unreadable file makes a view incomplete, by name") {
  const small_run run;
  std::ofstream{run.folder.path() / "cards" / "stray"} << "hello";

  const auto text = run.text_of(inspect_actors);
  CHECK(contains(text, "1 unreadable"));
  CHECK(contains(text, "incomplete: "
                         + (run.folder.path() / "cards" / "stray").string()
                         + ": 5 bytes, a card file has "));

  const auto json = run.json_of(inspect_processes);
  CHECK(json.at("complete") == false);
  CHECK(contains(json.at("missing").at(0).at("what"), "stray"));
  CHECK(json.at("processes").size() == 2);
}

TEST_CASE("the tree nests owned actors below their owners") {
  const small_run run;
  const auto text = run.text_of(inspect_tree);
  CHECK(contains(text, "\n  coordinator "));
  CHECK(contains(text, "\n    reward_pool "));
  CHECK(
    contains(text, "owner: coordinator")); // of the rank, in another process

  const auto json = run.json_of(inspect_tree);
  const auto& root = json.at("processes").at(0).at("actors");
  REQUIRE(root.size() == 1);
  CHECK(root.at(0).at("children").at(0).at("name") == "reward_pool");
}

TEST_CASE("actors that own each other are shown nevertheless") {
  const small_run run;
  run.cards->add("a", "k", "b");
  run.cards->add("b", "k", "a");
  CHECK(contains(run.text_of(inspect_tree), "\n  a "));
  const auto json = run.json_of(inspect_tree);
  CHECK(json.at("processes").at(0).at("actors").size() == 2);
}

TEST_CASE("the journal is merged by time, filtered, and cut to the last n") {
  const small_run run;
  journal::writer first{run.cards}, second{run.rank_cards};
  const auto ref = first.record({.kind = "job",
                                 .subject = "job",
                                 .from = "submitted",
                                 .to = "placing",
                                 .event = "submitted"});
  second.record({.kind = "rank",
                 .subject = "rank-0",
                 .from = "spawned",
                 .to = "joined",
                 .event = "join_accepted",
                 .because = {journal::cause_type::message, ref, "coordinator"},
                 .step = 3});
  first.record({.kind = "job",
                .subject = "job",
                .from = "placing",
                .to = "joining",
                .event = "placed"});
  first.close("done");
  second.close("done");
  const auto show = [&](const journal_view_options& options) {
    std::ostringstream out;
    CHECK(inspect_journal(run.folder.path(), view_format::text, options, out)
          == 0);
    return out.str();
  };

  const auto all = show({});
  CHECK(all.find("coordinator/2") < all.find("rank-0/2"));
  CHECK(all.find("rank-0/2") < all.find("coordinator/3"));
  CHECK(contains(all, "spawned -> joined"));
  CHECK(contains(all, "message coordinator coordinator/2"));
  CHECK(contains(all, "step=3"));
  CHECK(contains(all, "7 of 7 records\n"));
  CHECK(contains(show({.last = 1}), "1 of 7 records\n"));
  CHECK(contains(show({.process = "rank-0"}), "3 of 3 records\n"));
  CHECK(contains(show({.kind = "job"}), "2 of 2 records\n"));
  CHECK(contains(show({.subject = "rank*"}), "3 of 3 records\n"));
  CHECK(contains(show({.subject = "rank-0"}), "1 of 1 records\n"));

  std::ostringstream out;
  inspect_journal(run.folder.path(), view_format::json, {.kind = "rank"}, out);
  const auto json = nlohmann::json::parse(out.str());
  CHECK(json.at("records").at(0).at("cause").at("ref") == "coordinator/2");
  CHECK(json.at("complete") == true);
}

TEST_CASE("views of an empty folder say where they looked") {
  const temporary_folder empty;
  std::ostringstream out;
  CHECK(inspect_actors(empty.path(), view_format::text, out) == 1);
  CHECK(inspect_journal(empty.path(), view_format::text, {}, out) == 1);
  CHECK(out.str()
        == "no card files in " + (empty.path() / "cards").string()
             + "\nno journal in " + (empty.path() / "journal").string() + "\n");
}

TEST_CASE("the newest run below the current folder is found") {
  const temporary_folder folder;
  for (const auto* name : {"runs/a", "runs/b", "other"}) {
    card_file::create(folder.path() / name, "rank-0", process_kind::rank, name);
    std::filesystem::last_write_time(
      folder.path() / name / "cards",
      std::filesystem::file_time_type::clock::now()
        - (std::string_view{name} == "runs/b" ? 1h : 2h));
  }
  const inside here{folder.path()};
  CHECK(std::filesystem::equivalent(find_run_directory({}), "runs/b"));
  CHECK(find_run_directory("runs/a") == "runs/a");
}

TEST_CASE("without a run the error names the folder, the depth and a remedy") {
  const temporary_folder folder;
  std::filesystem::create_directories(folder.path() / "one" / "two");
  const inside here{folder.path()};
  const auto path = std::filesystem::current_path().string();
  CHECK(refusal_of({})
        == "io_failed: no run found in " + path
             + " (searched 3 folders, 3 levels down, for cards/ or journal/); "
               "name the run directory, as in: troupe inspect actors DIR");
  CHECK(refusal_of("one")
        == "io_failed: " + path
             + "/one is no run directory: neither cards/ nor journal/ is in "
               "it");
  CHECK(refusal_of("three") == "io_failed: no folder " + path + "/three");
}

TEST_CASE("the last state of a process without a card is said to be unknown") {
  const temporary_folder run;
  CHECK(describe_last_state(run.path(), "rank-3", "was killed by signal 9")
        == "rank-3 was killed by signal 9; no card: "
             + (run.path() / "cards" / "rank-3").string()
             + ": No such file or directory");
}

TEST_CASE("the last state names machines, handler and last error") {
  const small_run run;
  run.root.set_state("actor", "busy");
  run.root.set_state("job", "running");
  run.pool.set_error("reward_failed: f.py:8");
  const auto text = describe_last_state(run.folder.path(), "coordinator");
  CHECK(contains(text,
                 " is running; last state: job=running; in no handler; last "
                 "error: reward_failed: f.py:8 (reward_pool)"));
}

TEST_SUITE_END();
