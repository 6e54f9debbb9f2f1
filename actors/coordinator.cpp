// SPDX-License-Identifier: Apache-2.0
#include "actors/coordinator.hpp"

#include "actors/actor_base.hpp"
#include "actors/checkpoint_index.hpp"
#include "actors/experience_index.hpp"
#include "actors/loss_report.hpp"
#include "actors/prompt_source.hpp"
#include "actors/reward_pool.hpp"
#include "protocols/build_name.hpp"
#include "protocols/job_machine.hpp"
#include "protocols/rank_machine.hpp"
#include "protocols/shutdown_machine.hpp"
#include "runtime/inspect/card_path.hpp"
#include "runtime/inspect/card_reader.hpp"
#include "runtime/process/child.hpp"

#include <algorithm>
#include <limits>

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using job_event = job_machine::event;
using rank_event = rank_machine::event;
using phase = shutdown_machine::state;
using shutdown_event = shutdown_machine::event;

const std::string rank_process = "rank-0";

class coordinator : public actor_base<coordinator_actor> {
public:
  coordinator(caf::actor_config& config, coordinator_config settings)
    : actor_base(config, settings.control.process,
                 {"coordinator", "coordinator", ""}),
      settings_(std::move(settings)), control_(settings_.control),
      job_(make_machine<job_machine>("job")),
      rank_(make_machine<rank_machine>("job/" + rank_process)),
      shutdown_(make_machine<shutdown_machine>("shutdown")) {}

  behavior_type make_behavior() override {
    this->set_down_handler([this](caf::down_msg& m) { on_down(m); });
    this->monitor(settings_.host_agent);
    started();
    return {on(&coordinator::on_join),
            on(&coordinator::on_open),
            on(&coordinator::on_close),
            on(&coordinator::on_process_exited),
            on(&coordinator::on_signal),
            on(&coordinator::on_address),
            on_continuation()};
  }

  /// However it ends, its children end with it.
  void on_exit() override {
    stop_children();
    actor_base::on_exit();
  }

private:
  // -- opening ----------------------------------------------------------------

  caf::result<job_opened> on_open(open_job&) {
    opening_ = open<job_opened>();
    job_.apply(job_event::placement_began);
    job_.apply(job_event::placed);
    ask<process_started>(
      settings_.host_agent, "host agent",
      start_process{process_.make_header(), rank_process, address_},
      deadline::spawn, [this](process_started& p) { rank_pid_ = p.pid; },
      [this](const failure& f) { job_failed(f); });
    after(process_.patience(deadline::spawn), "join_deadline", [this] {
      if (rank_.state() == rank_machine::state::spawned)
        job_failed(
          {errc::deadline_exceeded,
           rank_process + " has not joined in time; " + last_state("is late")});
    });
    return opening_->result();
  }

  caf::result<joined> on_join(join& request) {
    if (request.process != rank_process)
      throw failure(errc::epoch_stale,
                    "no process '" + request.process + "' belongs to this job");
    if (request.build != build_name()) {
      const failure why{errc::unsupported,
                        request.process + " (pid " + std::to_string(request.pid)
                          + ") is of build " + request.build
                          + ", the coordinator of " + std::string{build_name()}
                          + ": both binaries must come from one build"};
      job_failed(why);
      throw failure(why);
    }
    if (incarnation_ != 0 && incarnation_ != request.incarnation)
      throw failure(errc::epoch_stale,
                    request.process + " has joined as incarnation "
                      + std::to_string(incarnation_) + "; pid "
                      + std::to_string(request.pid) + " is incarnation "
                      + std::to_string(request.incarnation));
    incarnation_ = request.incarnation;
    rank_.apply(rank_event::join_accepted);
    supervisor_ = caf::actor_cast<rank_supervisor_actor>(request.supervisor);
    this->monitor(supervisor_);
    // After the reply: the rank hears that it has joined before it loads.
    come_back(
      address(), "place_rank", [this] { place_rank(); }, seal());
    return joined{process_.epoch.load()};
  }

  void place_rank() {
    ask<placed>(
      supervisor_, rank_process,
      place{process_.make_header(), settings_.resume_from},
      deadline::load_model,
      [this](placed& p) {
        rank_.apply(rank_event::placed);
        job_.apply(job_event::ranks_joined);
        open_done(p);
      },
      [this](const failure& f) { job_failed(f); });
  }

  void open_done(const placed& p) {
    auto& system = this->system();
    rollout_ = caf::actor_cast<rollout_actor>(p.rollout);
    prompts_ = spawn_prompt_source(system, control_);
    // With one placement a group is trained on in the step that made it: what
    // may come between are that step's earlier updates.
    experience_ = spawn_experience_index(
      system, process_,
      static_cast<std::uint16_t>(
        std::min<std::int64_t>(control_.config.train.minibatches
                                 * control_.config.train.epochs,
                               std::numeric_limits<std::uint16_t>::max())
        - 1));
    rewards_ = spawn_reward_pool(system, control_);
    checkpoints_ =
      spawn_checkpoint_index(system, process_, control_.config, control_.files,
                             caf::actor_cast<parameter_shard_actor>(p.shard));
    this->monitor(prompts_);
    this->monitor(experience_);
    this->monitor(rewards_);
    this->monitor(checkpoints_);
    const auto plain = [](const auto& handle) {
      return caf::actor_cast<caf::strong_actor_ptr>(handle);
    };
    opening_->answer({p.rollout, p.trainer, p.shard, plain(prompts_),
                      plain(experience_), plain(rewards_), plain(checkpoints_),
                      process_.epoch.load(), rank_pid_, p.num_parameters,
                      p.version, settings_.loop_state});
    opening_.reset();
  }

  // -- signals, losses --------------------------------------------------------

  void on_signal(signalled& s) {
    set_cause(cause_type::signal, "signal " + std::to_string(s.number)
                                    + ", number " + std::to_string(s.count));
    if (s.count >= 2) {
      abort(failure(errc::aborted, "aborted by the operator (signal "
                                     + std::to_string(s.number) + ", twice)"));
      return;
    }
    job_.apply(job_event::drain_requested);
    settings_.link->request_stop();
    if (rollout_)
      ask<drained>(
        rollout_, "rollout/dp=0/tp=0", drain{process_.make_header()},
        deadline::drain, [](drained&) {},
        [this](const failure& f) { note(f); });
  }

  void on_process_exited(process_exited& e) {
    if (e.process != rank_process)
      return; // workers: the reward pool replaces them
    const auto status = runtime::process::decode_wait_status(e.status);
    if (shutdown_.state() == phase::s9) {
      if (!status.is_clean()) // the job is done: a fault in its teardown only
        note({errc::process_lost,
              last_state("ended in the teardown with "
                         + runtime::process::to_string(status))});
      acknowledge();
      return;
    }
    if (shutdown_.state() == phase::aborting && is_rank_ended_) {
      abort_acked(status.is_clean() ? shutdown_event::phase_acked
                                    : shutdown_event::peer_lost);
      return;
    }
    rank_lost(runtime::process::how_it_ended(status));
  }

  void on_down(const caf::down_msg& m) {
    if (supervisor_
        && m.source == caf::actor_cast<caf::actor_addr>(supervisor_)) {
      // The launcher knows better how it ended, and says so at once.
      after(process_.patience(deadline::exit_report), "rank_down", [this] {
        if (!is_rank_ended_)
          rank_lost("closed its connection");
      });
      return;
    }
    if (has_stopped_children_)
      return;
    job_failed(failure(errc::internal, name_of(m.source) + " ended by itself",
                       to_failure(m.reason, "it")));
  }

  [[nodiscard]] std::string name_of(const caf::actor_addr& who) const {
    const auto is = [&](const auto& actor) {
      return who == caf::actor_cast<caf::actor_addr>(actor);
    };
    return is(prompts_)       ? "prompt_source"
           : is(experience_)  ? "experience_index"
           : is(rewards_)     ? "reward_pool"
           : is(checkpoints_) ? "checkpoint_index"
                              : "host_agent/host=0";
  }

  void rank_lost(const std::string& what_happened) {
    if (std::exchange(is_rank_ended_, true))
      return;
    set_cause(cause_type::down, rank_process + " " + what_happened);
    rank_.apply(rank_event::process_lost);
    record_lost_actors();
    const failure why{errc::process_lost, last_state(what_happened)};
    if (!job_.is_terminal() && job_.state() != job_machine::state::closing)
      job_.apply(job_event::failure_reported);
    if (shutdown_.state() == phase::aborting)
      abort_acked(shutdown_event::peer_lost);
    else
      begin_abort(shutdown_event::peer_lost, note(why));
  }

  /// Those that were alive, as the card file that is left says.
  void record_lost_actors() {
    namespace inspect = runtime::inspect;
    const auto behind = because_;
    const auto view = inspect::read_card_file(
      inspect::card_path(process_.run_directory, rank_process));
    for (const auto& actor : view.actors)
      for (const auto& s : actor.states) {
        if (actor.ended || s.machine != actor_machine::name)
          continue;
        record({.kind = s.machine,
                .subject = actor.name,
                .from = s.state,
                .to = std::string{to_string(actor_machine::state::lost)},
                .event =
                  std::string{to_string(actor_machine::event::process_lost)}});
        because_ = behind;
      }
  }

  [[nodiscard]] std::string last_state(const std::string& what_happened) const {
    return report_loss(process_.run_directory, rank_process, what_happened);
  }

  void abort(const failure& why) {
    job_.apply(job_event::abort_requested);
    begin_abort(shutdown_event::abort_requested, why);
  }

  void job_failed(const failure& why) {
    if (!job_.is_terminal())
      job_.apply(job_event::failure_reported);
    begin_abort(shutdown_event::abort_requested, note(why));
  }

  // -- abort ------------------------------------------------------------------

  /// Decided once: a new epoch, in which the survivors drop all. What is left
  /// after the deadline is killed by the launcher, when we have ended.
  void begin_abort(shutdown_event what, const failure& why) {
    if (!abort_cause_)
      abort_cause_ = why;
    if (shutdown_.state() == phase::aborting
        || shutdown_.apply(what).what != verdict::move)
      return;
    process_.epoch.fetch_add(1);
    if (is_rank_ended_)
      return abort_acked(shutdown_event::peer_lost);
    if (!supervisor_) // none has joined: only we have something to drop
      return abort_acked(shutdown_event::phase_acked);
    ask<rank_aborted>(
      supervisor_, rank_process, abort_rank{process_.make_header()},
      deadline::abort,
      [this](rank_aborted&) { // its exit is the acknowledgement
        rank_.apply(rank_event::abort_requested);
        is_rank_ended_ = true;
      },
      [this](const failure& f) {
        note(f);
        abort_acked(f.code() == errc::deadline_exceeded
                      ? shutdown_event::deadline_expired
                      : shutdown_event::peer_lost);
      });
    after(process_.patience(deadline::abort), "abort_deadline",
          [this] { abort_acked(shutdown_event::deadline_expired); });
  }

  void abort_acked(shutdown_event how) {
    if (shutdown_.is_terminal())
      return;
    shutdown_.apply(how);
    if (!job_.is_terminal())
      job_.apply(job_event::shutdown_finished);
    end(*abort_cause_);
  }

  /// Every wait on the job ends with this; the launcher ends what is left.
  void end(const failure& why) {
    settings_.link->end(why);
    if (opening_)
      opening_->refuse(why);
    opening_.reset();
    if (closing_)
      closing_->answer({to_message(why)});
    closing_.reset();
  }

  // -- ordered shutdown (OPERATIONS F.7) --------------------------------------

  caf::result<job_closed> on_close(close_job& request) {
    closing_ = open<job_closed>();
    const auto answer = closing_->result();
    if (abort_cause_) { // it is cut short, or was
      if (shutdown_.is_terminal())
        end(*abort_cause_);
      return answer;
    }
    if (job_.state() == job_machine::state::joining) {
      job_failed(to_failure(request.why));
      return answer;
    }
    job_.apply(request.why.code != 0 ? job_event::loop_failed
                                     : job_event::loop_finished);
    shutdown_.facts().num_members = 1;
    shutdown_.apply(shutdown_event::shutdown_requested);
    run_phase();
    return answer;
  }

  /// One more member has acknowledged the phase; with one rank, the last.
  void acknowledge() {
    const auto before = shutdown_.state();
    shutdown_.apply(shutdown_event::phase_acked);
    if (shutdown_.state() != before)
      run_phase();
  }

  void run_phase() {
    const auto late = [this](const failure& f) {
      job_.apply(job_event::failure_reported);
      begin_abort(shutdown_event::deadline_expired,
                  {errc::deadline_exceeded,
                   std::string{"teardown: "} + note(f).what(), f.causes()});
    };
    const auto head = process_.make_header();
    switch (shutdown_.state()) {
    case phase::s1: acknowledge(); break; // the loop has ended: no admission
    case phase::s2:
      ask<gate_closed>(
        supervisor_, rank_process, close_gate{head}, deadline::control,
        [this](gate_closed& g) {
          fence_ = g.last_started_unit;
          rank_.apply(rank_event::drain_requested);
          acknowledge();
        },
        late);
      break;
    case phase::s3:
      ask<fenced>(
        supervisor_, rank_process, run_to{head, fence_}, deadline::fence,
        [this](fenced&) {
          rank_.apply(rank_event::fence_reached);
          acknowledge();
        },
        late);
      break;
    case phase::s4:
      ask<released>(
        supervisor_, rank_process, release{head}, deadline::control,
        [this](released&) {
          rank_.apply(rank_event::release_requested);
          acknowledge();
        },
        late);
      break;
    case phase::s5: // no communicators with one rank
    case phase::s6: // no CPU groups
    case phase::s7: // no rendezvous store
      acknowledge();
      break;
    case phase::s8: stop_own_actors(); break;
    case phase::s9:
      is_rank_ended_ = true; // its end is expected from here on
      ask<stopped>(
        supervisor_, rank_process, stop{head}, deadline::control,
        [this](stopped&) { rank_.apply(rank_event::stop_requested); }, late);
      after(
        process_.patience(deadline::control), "exit_deadline", [this, late] {
          if (shutdown_.state() == phase::s9)
            late({errc::deadline_exceeded, rank_process + " has not ended"});
        });
      break;
    case phase::done: shutdown_done(); break;
    default: break;
    }
  }

  /// Reverse order of spawning; nobody asks them anything any more.
  void stop_own_actors() {
    stop_children();
    acknowledge();
  }

  void stop_children() {
    has_stopped_children_ = true; // the host agent ends with the process
    if (!prompts_)
      return; // not opened
    stop_actor(checkpoints_);
    stop_actor(rewards_);
    stop_actor(experience_);
    stop_actor(prompts_);
  }

  void shutdown_done() {
    ask<stopped>(
      settings_.host_agent, "host agent", stop{process_.make_header()},
      deadline::control,
      [this](stopped&) {
        job_.apply(job_event::shutdown_finished);
        closing_->answer({});
        closing_.reset();
      },
      [this](const failure& f) { end(f); });
  }

  void on_address(know_address& a) { address_ = a.address; }

  coordinator_config settings_;
  control_context& control_;
  machine_instance<job_machine> job_;
  machine_instance<rank_machine> rank_;
  machine_instance<shutdown_machine> shutdown_;

  // -- the rank ---------------------------------------------------------------
  std::string address_; ///< where ranks reach us
  std::int32_t rank_pid_ = 0;
  rank_supervisor_actor supervisor_;
  rollout_actor rollout_;
  bool is_rank_ended_ = false;
  std::uint64_t incarnation_ = 0; ///< of the process that joined; 0: none
  std::uint64_t fence_ = 0;
  std::optional<failure> abort_cause_; ///< the first

  // -- children, in order of spawning -----------------------------------------
  prompt_source_actor prompts_;
  experience_index_actor experience_;
  reward_pool_actor rewards_;
  checkpoint_index_actor checkpoints_;
  bool has_stopped_children_ = false;

  std::optional<open_request<job_opened>> opening_;
  std::optional<open_request<job_closed>> closing_;
};

} // namespace

coordinator_actor spawn_coordinator(caf::actor_system& system,
                                    coordinator_config config) {
  return system.spawn<coordinator>(std::move(config));
}

void set_address(const coordinator_actor& coordinator,
                 const std::string& address) {
  caf::anon_send(coordinator, know_address{address}, envelope{});
}

} // namespace troupe::actors
