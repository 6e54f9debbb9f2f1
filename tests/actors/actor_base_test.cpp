// SPDX-License-Identifier: Apache-2.0
//
// Two actors of one process under CAF's test scheduler: nothing runs but what
// the test lets run. The second process of a chain is played by a message with
// an envelope from elsewhere.
#include "actors/actor_base.hpp"

#include "actors/caf_config.hpp"
#include "protocols/job_machine.hpp"
#include "runtime/inspect/card_reader.hpp"
#include "runtime/journal/check.hpp"
#include "runtime/journal/record_index.hpp"
#include "tests/support/temporary_folder.hpp"

#include <caf/actor_system.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>

#include "tests/support/doctest.hpp"

namespace {

using namespace troupe;
using namespace troupe::protocols;
using namespace troupe::actors;
using runtime::config::deadline;
using job_event = job_machine::event;

/// Is asked. `tell_position` moves its machine, `take_prompts` moves it and
/// fails, or answers with as many as are wanted ("at once", "later"), `seek` is
/// never answered.
class source : public actor_base<prompt_source_actor> {
public:
  source(caf::actor_config& config, process_context& process)
    : actor_base(config, process, {"source", "source", "test"}),
      job_(make_machine<job_machine>("asked")) {}

  behavior_type make_behavior() override {
    started();
    return {on(&source::on_take), on(&source::on_tell), on(&source::on_seek),
            on_continuation()};
  }

private:
  caf::result<prompts_taken> on_take(take_prompts& request) {
    prompts_taken many;
    many.ids.resize(request.num_prompts);
    if (request.split == "at once")
      return many;
    if (request.split == "later") {
      auto answer = open<prompts_taken>();
      answer.answer(std::move(many));
      return answer.result();
    }
    job_.apply(job_event::drain_requested);
    throw failure(errc::invalid_request, "no prompt is left");
  }
  caf::result<data_position> on_tell(tell_position&) {
    job_.apply(job_event::drain_requested);
    return data_position{1, 2};
  }
  caf::result<sought> on_seek(seek&) {
    kept_ = open<sought>();
    return kept_->result();
  }

  machine_instance<job_machine> job_;
  std::optional<open_request<sought>> kept_;
};

/// What the asking one asks for, as the event of a `move_groups`.
enum class wish : std::uint8_t { answer, failing, silence };

/// Asks, then moves a machine and answers.
class asking : public actor_base<experience_index_actor> {
public:
  asking(caf::actor_config& config, process_context& process,
         prompt_source_actor target)
    : actor_base(config, process, {"asking", "asking", "test"}),
      target_(std::move(target)), job_(make_machine<job_machine>("asker")) {}

  behavior_type make_behavior() override {
    started();
    return {on(&asking::on_move), on_continuation()};
  }

private:
  caf::result<groups_moved> on_move(move_groups& request) {
    auto answer = open<groups_moved>();
    const auto move_on = [this, answer](auto&&...) mutable {
      job_.apply(job_event::drain_requested);
      answer.answer({1});
    };
    const auto head = process_.make_header();
    switch (static_cast<wish>(request.event)) {
    case wish::answer:
      ask<data_position>(target_, "source", tell_position{head},
                         deadline::control, move_on, move_on);
      break;
    case wish::failing:
      ask<prompts_taken>(target_, "source", take_prompts{head, "train", 1},
                         deadline::control, move_on, move_on);
      break;
    case wish::silence:
      ask<sought>(target_, "source", seek{head, {}}, deadline::control, move_on,
                  move_on);
      break;
    }
    return answer.result();
  }

  prompt_source_actor target_;
  machine_instance<job_machine> job_;
};

/// Takes a request up before it has started.
class early_bird : public actor_base<checkpoint_index_actor> {
public:
  early_bird(caf::actor_config& config, process_context& process)
    : actor_base(config, process, {"early", "early", "test"}) {}

  behavior_type make_behavior() override {
    life_.apply(actor_machine::event::request_accepted);
    started();
    return {on(&early_bird::on_save), on_continuation()};
  }

private:
  caf::result<saved> on_save(save&) { return saved{}; }
};

struct fixture {
  fixture() {
    process.process = "rank-0";
    process.run_directory = run.path();
    process.cards = runtime::inspect::card_file::create(
      run.path(), "rank-0", runtime::inspect::process_kind::rank, "run-7");
    process.journal = std::make_shared<runtime::journal::writer>(process.cards);
    config.set("scheduler.policy", caf::atom("testing"));
    system.emplace(config);
    scheduler =
      dynamic_cast<caf::scheduler::test_coordinator*>(&system->scheduler());
    target = system->spawn<source>(std::ref(process));
    asker = system->spawn<asking>(std::ref(process), target);
    scheduler->run();
  }

  ~fixture() {
    caf::anon_send_exit(asker, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(target, caf::exit_reason::user_shutdown);
    scheduler->run();
  }

  void send(wish what) {
    caf::anon_send(
      asker,
      move_groups{process.make_header(), {}, static_cast<std::uint8_t>(what)},
      envelope{"loop", "coordinator/7"});
  }

  /// One message of one actor.
  template <class Handle>
  void run_one(const Handle& actor) {
    REQUIRE(scheduler->prioritize(actor));
    scheduler->run_once();
  }

  [[nodiscard]] std::uint64_t mailbox_of(const std::string& name) const {
    const auto view = runtime::inspect::read_cards(run.path()).at(0);
    for (const auto& actor : view.actors)
      if (actor.name == name)
        return actor.mailbox;
    throw std::out_of_range(name);
  }

  /// The subjects of the chain behind the last record of a subject, and what
  /// its end says.
  [[nodiscard]] std::string chain_of(const std::string& subject) {
    process.journal->flush(std::chrono::steady_clock::now()
                           + std::chrono::seconds{10});
    const auto journals = runtime::journal::read_journals(run.path());
    CHECK(runtime::journal::check_journals(journals).empty());
    const runtime::journal::record_index index{journals};
    std::string text;
    for (const auto* at = index.find_last(subject); at != nullptr;) {
      const auto& because = at->what.because;
      text += at->what.subject + " " + at->what.event + " <- "
              + std::string{to_string(because.type)} + " " + because.by + "\n";
      const auto id = runtime::journal::parse_reference(because.ref);
      at = id ? index.find(*id) : nullptr;
      if (at == nullptr)
        text += because.ref;
    }
    return text;
  }

  tests::temporary_folder run;
  process_context process;
  caf_config config{"run-7", 1.0};
  std::optional<caf::actor_system> system;
  caf::scheduler::test_coordinator* scheduler = nullptr;
  prompt_source_actor target;
  experience_index_actor asker;
};

} // namespace

TEST_SUITE_BEGIN("actors.actor_base");

TEST_CASE_FIXTURE(fixture, "a reply carries the record behind it") {
  send(wish::answer);
  scheduler->run();

  CHECK(chain_of("asker")
        == "asker drain_requested <- message tell_position from source\n"
           "asked drain_requested <- message tell_position from asking\n"
           "asking request_accepted <- message move_groups from loop\n"
           "coordinator/7");
}

TEST_CASE_FIXTURE(fixture, "a failure carries the record behind it") {
  send(wish::failing);
  scheduler->run();

  CHECK(chain_of("asker")
        == "asker drain_requested <- message take_prompts from source\n"
           "asked drain_requested <- message take_prompts from asking\n"
           "asking request_accepted <- message move_groups from loop\n"
           "coordinator/7");
}

TEST_CASE_FIXTURE(fixture, "a deadline leads back to what was asked") {
  send(wish::silence);
  scheduler->run();
  scheduler->trigger_timeouts();
  scheduler->run();

  CHECK(chain_of("asker")
        == "asker drain_requested <- timeout source was asked to seek (10000 "
           "ms)\n"
           "asking request_accepted <- message move_groups from loop\n"
           "coordinator/7");
}

TEST_CASE_FIXTURE(fixture, "a later move names the one before it") {
  send(wish::answer);
  scheduler->run();

  // Answered behind the move of "asker", in the same handler.
  CHECK(chain_of("asking").starts_with(
    "asking request_answered <- rule the same handler\n"
    "asker drain_requested <- "));
}

TEST_CASE_FIXTURE(fixture, "a cause does not leak into the next message") {
  send(wish::answer);
  scheduler->run();
  caf::anon_send(asker, move_groups{process.make_header(), {}, 0}, envelope{});
  scheduler->run();

  CHECK(chain_of("asker").ends_with(
    "asking request_accepted <- message move_groups\n"));
}

TEST_CASE_FIXTURE(fixture, "an older epoch is refused by name and number") {
  const auto sent = process.make_header();
  process.epoch = 2;
  caf::scoped_actor self{*system};
  std::optional<failure> refusal;
  auto ask = self->request(asker, caf::infinite, move_groups{sent, {}, 0},
                           envelope{"loop", {}});
  scheduler->run();
  ask.receive([](groups_moved&, envelope&) {},
              [&](caf::error& e) { refusal = to_failure(e, "asked"); });

  REQUIRE(refusal);
  CHECK(refusal->code() == errc::epoch_stale);
  CHECK(std::string{refusal->what()}
        == "asking refuses request " + std::to_string(sent.request_id)
             + " of loop: it is of epoch 1, the job is in 2");
}

TEST_CASE_FIXTURE(fixture, "no reply is larger than a message may be") {
  for (const std::string how : {"at once", "later"})
    for (const std::uint32_t count : {5461U, 5462U}) {
      CAPTURE(how);
      CAPTURE(count);
      caf::scoped_actor self{*system};
      auto ask = self->request(target, caf::infinite,
                               take_prompts{process.make_header(), how, count},
                               envelope{"loop", {}});
      scheduler->run();
      std::size_t received = 0;
      std::string refusal;
      ask.receive(
        [&](prompts_taken& t, envelope&) { received = t.ids.size(); },
        [&](caf::error& e) { refusal = to_failure(e, "asked").what(); });
      if (count == 5461)
        CHECK(received == count); // 65534 bytes
      else
        CHECK(refusal
              == "troupe::protocols::prompts_taken takes 65546 bytes, allowed: "
                 "65536; ask for fewer groups at a time");
    }
}

TEST_CASE_FIXTURE(fixture, "what came before the start is taken up") {
  const auto early = system->spawn<early_bird>(std::ref(process));
  scheduler->run();

  const auto view = runtime::inspect::read_cards(run.path()).at(0);
  for (const auto& actor : view.actors)
    if (actor.name == "early")
      CHECK(actor.states.at(0).state == "busy");
  caf::anon_send_exit(early, caf::exit_reason::user_shutdown);
  scheduler->run();
}

TEST_CASE_FIXTURE(fixture, "the mailbox shows a burst and gets empty again") {
  for (int i = 0; i < 5; ++i)
    send(wish::answer);
  CHECK(mailbox_of("asking") == 5);

  for (std::uint64_t i = 1; i <= 5; ++i) {
    run_one(asker);
    CHECK(mailbox_of("asking") == 5 - i);
    CHECK(mailbox_of("source") == i);
  }
  for (std::uint64_t i = 1; i <= 5; ++i) {
    run_one(target);
    CHECK(mailbox_of("source") == 5 - i);
    CHECK(mailbox_of("asking") == i); // replies wait like any message
  }

  scheduler->run();
  CHECK(mailbox_of("asking") == 0);
}

TEST_CASE_FIXTURE(fixture, "what CAF drops or handles itself is no backlog") {
  send(wish::answer);
  scheduler->run();
  scheduler->trigger_timeouts(); // of the request that was answered
  caf::anon_send(caf::actor_cast<caf::actor>(asker),
                 caf::exit_msg{target.address(), {}}); // no reason to end
  CHECK(mailbox_of("asking") >= 1);

  scheduler->run();

  CHECK(mailbox_of("asking") == 0);
}

TEST_SUITE_END();
