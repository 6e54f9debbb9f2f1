// SPDX-License-Identifier: Apache-2.0
//
// The two indexes of the coordinator's process, with a parameter shard that is
// played. The effects of their machines' rows are looked at from outside:
// answers, folders, journal.
#include "actors/actor_base.hpp"
#include "actors/caf_config.hpp"
#include "actors/checkpoint_index.hpp"
#include "actors/experience_index.hpp"
#include "actors/reward_pool.hpp"
#include "protocols/group_machine.hpp"
#include "runtime/checkpoint/manifest.hpp"
#include "runtime/journal/check.hpp"
#include "runtime/journal/reader.hpp"
#include "tests/support/temporary_folder.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <fstream>

#include "tests/support/doctest.hpp"

namespace {

using namespace troupe;
using namespace troupe::protocols;
using namespace troupe::actors;
namespace files = runtime::checkpoint;
using group_event = group_machine::event;

constexpr std::chrono::seconds patience{20};

/// What the played shard does with write_checkpoint; `end`: it has ended.
enum class shard_does : std::uint8_t { write, fail, nothing, end };

class played_shard : public actor_base<parameter_shard_actor> {
public:
  played_shard(caf::actor_config& config, process_context& process,
               shard_does what)
    : actor_base(config, process, {"shard", "shard", "test"}), what_(what) {}

  behavior_type make_behavior() override {
    started();
    return {
      on(&played_shard::on_take_view),    on(&played_shard::on_return_view),
      on(&played_shard::on_begin_update), on(&played_shard::on_end_update),
      on(&played_shard::on_write),        on(&played_shard::on_export),
      on(&played_shard::on_rollout),      on_continuation()};
  }

private:
  caf::result<checkpoint_written> on_write(write_checkpoint& request) {
    switch (what_) {
    case shard_does::write:
      std::ofstream{request.folder + "/weights"} << "w";
      return checkpoint_written{{"weights"}, 7};
    case shard_does::fail:
      std::ofstream{request.folder + "/half"} << "w";
      throw failure(errc::io_failed, "no space left on /disk");
    case shard_does::nothing:
    case shard_does::end: break;
    }
    kept_ = open<checkpoint_written>();
    return kept_->result();
  }
  caf::result<view_taken> on_take_view(take_view&) { return view_taken{}; }
  caf::result<view_returned> on_return_view(return_view&) {
    return view_returned{};
  }
  caf::result<may_update> on_begin_update(begin_update&) {
    return may_update{};
  }
  caf::result<updated> on_end_update(end_update&) { return updated{}; }
  caf::result<model_exported> on_export(export_model&) {
    return model_exported{};
  }
  caf::result<acknowledged> on_rollout(know_rollout&) { return acknowledged{}; }

  shard_does what_;
  std::optional<open_request<checkpoint_written>> kept_;
};

struct fixture {
  fixture() {
    process.process = "coordinator";
    process.run_directory = run.path();
    process.deadline_scale = 0.001; // ten minutes for a save: 0.6 s
    process.cards = runtime::inspect::card_file::create(
      run.path(), "coordinator", runtime::inspect::process_kind::coordinator,
      "run-7");
    process.journal = std::make_shared<runtime::journal::writer>(process.cards);
    job.run.keep_checkpoints = 2;
    system.emplace(config);
    self.emplace(*system);
  }
  ~fixture() { end(); }

  void end() {
    for (const auto& a : spawned)
      caf::anon_send_exit(a, caf::exit_reason::user_shutdown);
    spawned.clear();
    self.reset();
    system.reset(); // awaits all actors
  }

  /// The answer's text: "" when it was none.
  template <class Reply, class Target, class Request>
  std::string ask(const Target& target, Request request) {
    std::string text;
    (*self)
      ->request(target, patience, std::move(request), envelope{"loop", {}})
      .receive([](Reply&, envelope&) {},
               [&](caf::error& e) { text = to_failure(e, "asked").what(); });
    return text;
  }

  checkpoint_index_actor with_shard(shard_does what) {
    const auto shard = system->spawn<played_shard>(std::ref(process), what);
    const auto index =
      spawn_checkpoint_index(*system, process, job, file_queue, shard);
    if (what == shard_does::end) {
      caf::anon_send_exit(shard, caf::exit_reason::kill);
      (*self)->wait_for(caf::actor_cast<caf::actor>(shard));
    }
    spawned.push_back(caf::actor_cast<caf::actor>(shard));
    spawned.push_back(caf::actor_cast<caf::actor>(index));
    return index;
  }

  std::string save_step(std::uint64_t step, shard_does what) {
    return ask<saved>(with_shard(what),
                      save{process.make_header(), step, "{}"});
  }

  std::string move(const std::vector<group_id>& ids, group_event what,
                   policy_version version) {
    return ask<groups_moved>(
      experience, move_groups{process.make_header(), ids,
                              static_cast<std::uint8_t>(what), version});
  }

  /// "from -> to by event" of the last move of a subject.
  std::string last_move(const std::string& subject) {
    process.journal->flush(std::chrono::steady_clock::now() + patience);
    const auto journals = runtime::journal::read_journals(run.path());
    CHECK(runtime::journal::check_journals(journals).empty());
    std::string text;
    for (const auto& r : journals.at(0).records)
      if (r.what.subject == subject)
        text = r.what.from + " -> " + r.what.to + " by " + r.what.event;
    return text;
  }

  [[nodiscard]] bool has_folder(const std::string& name) const {
    return std::filesystem::exists(run.path() / "checkpoints" / name);
  }

  tests::temporary_folder run;
  process_context process;
  runtime::config::job_config job;
  runtime::process::work_queue file_queue{"files", 64};
  caf_config config{"run-7", 1.0};
  std::optional<caf::actor_system> system;
  std::optional<caf::scoped_actor> self;
  std::vector<caf::actor> spawned;
  experience_index_actor experience;
};

} // namespace

TEST_SUITE_BEGIN("actors.index");

TEST_CASE("the deadline of grading follows groups, workers and timeout") {
  using std::chrono::seconds;
  runtime::config::reward_block reward;
  reward.kind = "python";
  reward.workers = 2;
  reward.timeout_s = 30;

  CHECK(grade_patience(reward, 4, 1.0) == seconds{600});
  CHECK(grade_patience(reward, 100, 1.0) == seconds{60 + 50 * 90});
  CHECK(grade_patience(reward, 101, 0.5) == seconds{60 + 51 * 90} / 2);
  reward.kind = "final_number";
  CHECK(grade_patience(reward, 100, 1.0) == seconds{600});
}

TEST_CASE_FIXTURE(fixture, "a saved checkpoint is sealed") {
  CHECK(save_step(3, shard_does::write) == "");

  CHECK(has_folder("step-3"));
  CHECK(last_move("checkpoint/step-3")
        == "writing -> sealed by checkpoint_sealed");
}

TEST_CASE_FIXTURE(fixture, "a failed checkpoint leaves no torn folder") {
  CHECK(save_step(3, shard_does::fail) == "no space left on /disk");

  CHECK(last_move("checkpoint/step-3") == "writing -> failed by write_failed");
  CHECK_FALSE(has_folder("step-3.partial"));
  CHECK_FALSE(has_folder("step-3"));
}

TEST_CASE_FIXTURE(fixture, "a writer that is silent fails it by its deadline") {
  CHECK(save_step(3, shard_does::nothing).find("no answer within")
        != std::string::npos);

  CHECK(last_move("checkpoint/step-3")
        == "writing -> failed by deadline_expired");
  CHECK_FALSE(has_folder("step-3.partial"));
}

TEST_CASE_FIXTURE(fixture, "a writer that is lost fails it") {
  CHECK(save_step(3, shard_does::end) != "");

  CHECK(last_move("checkpoint/step-3") == "writing -> failed by process_lost");
  CHECK_FALSE(has_folder("step-3.partial"));
}

TEST_CASE_FIXTURE(fixture,
                  "a group that is too old is dropped when asked for") {
  experience = spawn_experience_index(*system, process, 1);
  spawned.push_back(caf::actor_cast<caf::actor>(experience));
  const group_id young{0, 1, 0}, old{0, 0, 0};
  for (const auto& id : {young, old}) {
    CHECK(move({id}, group_event::group_dispatched, 4) == "");
    CHECK(move({id}, group_event::group_generated, id == old ? 4 : 5) == "");
    CHECK(move({id}, group_event::grading_began, 5) == "");
    CHECK(move({id}, group_event::group_graded, 5) == "");
  }

  CHECK(move({young, old}, group_event::lease_requested, 6)
        == "dropped, too old to be trained on at version 6: group "
             + to_string(old) + " of version 4; allowed age: 1 versions");
  CHECK(last_move("group/" + to_string(young))
        == "rewarded -> leased by lease_requested");
  CHECK(last_move("group/" + to_string(old))
        == "rewarded -> dropped by lease_requested");
}

TEST_SUITE_END();
