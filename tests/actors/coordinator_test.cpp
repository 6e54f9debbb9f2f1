// SPDX-License-Identifier: Apache-2.0
//
// The coordinator with its own actors, beside a host agent and a rank that are
// played: what becomes of the job when one of its own ends.
#include "actors/coordinator.hpp"

#include "actors/actor_base.hpp"
#include "actors/caf_config.hpp"
#include "protocols/build_name.hpp"
#include "runtime/config/read_job.hpp"
#include "tests/support/temporary_folder.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <functional>

#include "tests/support/doctest.hpp"

namespace {

using namespace troupe;
using namespace troupe::protocols;
using namespace troupe::actors;

constexpr std::chrono::seconds patience{20};

class played_host : public actor_base<host_agent_actor> {
public:
  played_host(caf::actor_config& config, process_context& process)
    : actor_base(config, process, {"host", "host", "test"}) {}

  behavior_type make_behavior() override {
    started();
    return {on(&played_host::on_start), on(&played_host::on_stop),
            on_continuation()};
  }

private:
  caf::result<process_started> on_start(start_process&) {
    return process_started{77};
  }
  caf::result<stopped> on_stop(stop&) { return stopped{1}; }
};

/// Its process ends behind `stop` and `abort_rank`.
class played_rank : public actor_base<rank_supervisor_actor> {
public:
  played_rank(caf::actor_config& config, process_context& process,
              std::function<void()> end_process)
    : actor_base(config, process, {"rank", "rank", "test"}),
      end_process_(std::move(end_process)) {}

  behavior_type make_behavior() override {
    started();
    return {on(&played_rank::reply<placed, place>),
            on(&played_rank::reply<gate_closed, close_gate>),
            on(&played_rank::reply<fenced, run_to>),
            on(&played_rank::reply<released, release>),
            on(&played_rank::last_reply<stopped, stop>),
            on(&played_rank::last_reply<rank_aborted, abort_rank>),
            on(&played_rank::reply<granted, reserve>),
            on(&played_rank::reply<given_up, give_up>),
            on_continuation()};
  }

private:
  template <class Reply, class Request>
  caf::result<Reply> reply(Request&) {
    return Reply{};
  }
  template <class Reply, class Request>
  caf::result<Reply> last_reply(Request&) {
    end_process_();
    return Reply{};
  }

  std::function<void()> end_process_;
};

struct fixture {
  fixture() {
    process.process = "coordinator";
    process.run_directory = run.path();
    process.cards = runtime::inspect::card_file::create(
      run.path(), "coordinator", runtime::inspect::process_kind::coordinator,
      "run-7");
    process.journal = std::make_shared<runtime::journal::writer>(process.cards);
    system.emplace(config);
    self.emplace(*system);
    host = system->spawn<played_host>(std::ref(process));
    rank = system->spawn<played_rank>(std::ref(process), [this] {
      caf::anon_send(coordinator, process_exited{"rank-0", 77, 0},
                     envelope{"launcher", {}});
    });
    coordinator = spawn_coordinator(*system, {control, link, host, "", ""});
  }
  ~fixture() {
    for (const auto& a :
         {caf::actor_cast<caf::actor>(coordinator),
          caf::actor_cast<caf::actor>(rank), caf::actor_cast<caf::actor>(host)})
      end(a, caf::exit_reason::user_shutdown);
    for (const auto* a : {&opened.prompts, &opened.experience, &opened.rewards,
                          &opened.checkpoints})
      if (*a)
        (*self)->wait_for(caf::actor_cast<caf::actor>(*a));
  }

  template <class Reason>
  void end(const caf::actor& who, Reason why) {
    (*self)->send_exit(who, std::move(why));
    (*self)->wait_for(who);
  }

  template <class Reply, class Request>
  Reply ask(Request request) {
    Reply out;
    (*self)
      ->request(coordinator, patience, std::move(request), envelope{"loop", {}})
      .receive([&](Reply& r, envelope&) { out = r; },
               [&](caf::error& e) { throw to_failure(e, "asked"); });
    return out;
  }

  void open() {
    auto opening =
      (*self)->request(coordinator, patience, open_job{process.make_header()},
                       envelope{"loop", {}});
    ask<joined>(join{"rank-0", 77, 1, std::string{build_name()},
                     caf::actor_cast<caf::strong_actor_ptr>(rank)});
    opening.receive([&](job_opened& r, envelope&) { opened = r; },
                    [&](caf::error& e) { throw to_failure(e, "open"); });
  }

  failure ending() {
    link->wait_until(std::chrono::steady_clock::now() + patience,
                     [] { return false; });
    REQUIRE(link->ended());
    return *link->ended();
  }

  tests::temporary_folder run;
  process_context process;
  runtime::config::job_config job = runtime::config::read_job(
    TROUPE_SOURCE_DIR "/tests/support/tiny.yaml",
    std::vector<std::string>{"run.directory=unused", "train.steps=1"});
  runtime::process::fd_pair sockets = runtime::process::make_stream_pair();
  runtime::process::launcher_client launcher{std::move(sockets.ours), {}};
  runtime::process::work_queue files{"files", 4};
  prompt_table prompts{job, {2, 300, 256}, row_use::train};
  completion_texts texts;
  control_context control{.process = process,
                          .config = job,
                          .launcher = launcher,
                          .files = files,
                          .prompts = prompts,
                          .texts = texts,
                          .mode = "train",
                          .data_plane = nullptr};
  std::shared_ptr<job_link> link = std::make_shared<job_link>();
  caf_config config{"run-7", 1.0};
  std::optional<caf::actor_system> system;
  std::optional<caf::scoped_actor> self;
  host_agent_actor host;
  rank_supervisor_actor rank;
  coordinator_actor coordinator;
  job_opened opened;
};

} // namespace

TEST_SUITE_BEGIN("actors.coordinator");

TEST_CASE_FIXTURE(fixture, "an own actor that ends fails the job by its name") {
  open();

  end(caf::actor_cast<caf::actor>(opened.rewards),
      to_error({errc::message_too_large, "graded takes 70000 bytes"}));

  const auto why = ending();
  CHECK(why.chain()
        == "reward_pool ended by itself\n"
           "  caused by message_too_large: graded takes 70000 bytes");
  CHECK(ask<job_closed>(close_job{process.make_header(), {}}).fault.text
        == "reward_pool ended by itself");
}

TEST_CASE_FIXTURE(fixture, "a host agent that ends fails the job, too") {
  open();

  end(caf::actor_cast<caf::actor>(host),
      to_error({errc::internal, "no such thing"}));

  CHECK(ending().chain()
        == "host_agent/host=0 ended by itself\n"
           "  caused by internal: no such thing");
}

TEST_CASE_FIXTURE(fixture, "its own actors may end in the ordered way down") {
  open();

  auto closing = (*self)->request(coordinator, patience,
                                  close_job{process.make_header(), {}},
                                  envelope{"loop", {}});
  (*self)->wait_for(caf::actor_cast<caf::actor>(opened.prompts));
  closing.receive([](job_closed& r, envelope&) { CHECK(r.fault.text.empty()); },
                  [](caf::error& e) { FAIL(to_failure(e, "close").chain()); });
  CHECK_FALSE(link->ended());
}

TEST_SUITE_END();
