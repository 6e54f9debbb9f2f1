// SPDX-License-Identifier: Apache-2.0
#include "actors/rank_supervisor.hpp"

#include "actors/cache_owner.hpp"
#include "actors/memory_ledger.hpp"
#include "actors/parameter_shard.hpp"
#include "actors/rollout.hpp"
#include "actors/trainer.hpp"
#include "protocols/build_name.hpp"
#include "protocols/rank_machine.hpp"
#include "runtime/train/activation_memory.hpp"

#include <ATen/Parallel.h>

#include <unistd.h>

#include <array>

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using event = rank_machine::event;

class rank_supervisor : public actor_base<rank_supervisor_actor> {
public:
  rank_supervisor(caf::actor_config& config, rank_context& rank,
                  coordinator_actor coordinator,
                  std::function<void(const std::string&)> on_end)
    : actor_base(config, rank.process,
                 {"rank_supervisor/dp=0/tp=0", "rank_supervisor", ""}),
      rank_(rank), coordinator_(std::move(coordinator)),
      on_end_(std::move(on_end)),
      machine_(make_machine<rank_machine>(rank.process.process)),
      ledger_(memory_limit_bytes()) {}

  behavior_type make_behavior() override {
    this->set_down_handler([this](caf::down_msg& m) { on_down(m); });
    this->monitor(coordinator_);
    started();
    join_job();
    return {on(&rank_supervisor::on_place),
            on(&rank_supervisor::on_close_gate),
            on(&rank_supervisor::on_run_to),
            on(&rank_supervisor::on_release),
            on(&rank_supervisor::on_stop),
            on(&rank_supervisor::on_reserve),
            on(&rank_supervisor::on_give_up),
            on(&rank_supervisor::on_abort),
            on_continuation()};
  }

private:
  void join_job() {
    ask<joined>(
      coordinator_, "coordinator",
      join{process_.process, ::getpid(), process_.cards->incarnation(),
           std::string{build_name()},
           caf::actor_cast<caf::strong_actor_ptr>(address())},
      deadline::connect,
      [this](joined& j) {
        process_.epoch = j.epoch;
        machine_.apply(event::join_accepted);
      },
      [this](const failure& f) {
        machine_.apply(event::join_refused);
        end(std::string{"the coordinator refused: "} + f.what());
      });
  }

  caf::result<placed> on_place(place& request) {
    auto answer = open<placed>();
    process_.cards->set_process_state("loading");
    run_on(
      rank_.compute, "load_model",
      [this, from = request.resume_from] {
        // Kernels have threads of their own; ATen's would compete with them.
        at::set_num_threads(1);
        rank_.model = std::make_unique<runtime::train::rank_model>(
          rank_.config, rank_.use, from, rank_.pool);
        return 0;
      },
      [this, answer](int) mutable {
        const auto reply = spawn_actors();
        // Placed when the rollout may generate, not before.
        ask<acknowledged>(
          shard_, "parameter_shard/dp=0/tp=0", know_rollout{reply.rollout},
          deadline::control,
          [this, reply, answer](acknowledged&) mutable {
            machine_.apply(event::placed);
            process_.cards->set_process_state("running");
            answer.answer(reply);
          },
          answer.otherwise());
      },
      answer.otherwise());
    return answer.result();
  }

  placed spawn_actors() {
    const auto weights = rank_.model->num_parameters() * sizeof(float);
    ledger_.reserve("parameter_shard/dp=0/tp=0", "weights", weights);
    if (rank_.use == runtime::train::model_use::train) {
      ledger_.reserve("parameter_shard/dp=0/tp=0", "gradients and moments",
                      3 * sizeof(float)
                        * rank_.model->num_trained_parameters());
      const auto activations = runtime::train::activation_bytes(
        rank_.model->policy()->config(), rank_.config);
      ledger_.reserve("trainer/dp=0/tp=0",
                      "activations of train.microbatch_tokens",
                      static_cast<std::uint64_t>(activations));
    }
    auto& system = this->system();
    shard_ = spawn_parameter_shard(system, rank_);
    cache_ = spawn_cache_owner(system, rank_, address());
    rollout_ = spawn_rollout(system, rank_, shard_, cache_);
    trainer_ = spawn_trainer(system, rank_, shard_);
    this->monitor(shard_);
    this->monitor(cache_);
    this->monitor(rollout_);
    this->monitor(trainer_);
    return {caf::actor_cast<caf::strong_actor_ptr>(rollout_),
            caf::actor_cast<caf::strong_actor_ptr>(trainer_),
            caf::actor_cast<caf::strong_actor_ptr>(shard_),
            rank_.model->num_parameters(), rank_.model->version};
  }

  caf::result<gate_closed> on_close_gate(close_gate&) {
    const auto last = rank_.gate.close();
    machine_.apply(event::drain_requested);
    return gate_closed{last};
  }

  caf::result<fenced> on_run_to(run_to& request) {
    // What was started runs on the compute queue: behind it, the queue is idle.
    auto answer = open<fenced>();
    run_on(
      rank_.compute, "run_to_fence",
      [this] { return rank_.gate.last_completed(); },
      [this, answer, fence = request.fence](std::uint64_t last) mutable {
        TROUPE_ASSERT(last <= fence, "I1: no unit starts beyond the fence");
        machine_.apply(event::fence_reached);
        answer.answer({last});
      },
      answer.otherwise());
    return answer.result();
  }

  caf::result<released> on_release(release&) {
    auto answer = open<released>();
    if (!rollout_) {
      release_done(answer, 0);
      return answer.result();
    }
    ask<released>(
      rollout_, "rollout/dp=0/tp=0", release{process_.make_header()},
      deadline::control,
      [this, answer](released& r) mutable {
        ask<cache_closed>(
          cache_, "cache_owner/dp=0/tp=0", close_cache{process_.make_header()},
          deadline::control,
          [this, answer, graphs = r.num_live_graphs](cache_closed&) mutable {
            release_done(answer, graphs);
          },
          answer.otherwise());
      },
      answer.otherwise());
    return answer.result();
  }

  void release_done(open_request<released> answer, std::uint32_t graphs) {
    machine_.apply(event::release_requested);
    answer.answer({graphs, 0});
  }

  caf::result<stopped> on_stop(stop&) {
    machine_.apply(event::stop_requested);
    is_stopping_ = true;
    stop_answer_ = open<stopped>();
    const auto answer = stop_answer_->result();
    stop_next_child();
    return answer;
  }

  /// No unit is awaited: the control word ends the closure that runs.
  caf::result<rank_aborted> on_abort(abort_rank& request) {
    process_.epoch = request.head.epoch;
    rank_.control.store(1);
    machine_.apply(event::abort_requested);
    is_ended_ = true; // its children's ends are no losses
    for (const auto& child : children())
      if (child)
        stop_actor(child);
    // After the answer.
    come_back(
      address(), "end_aborted",
      [this] {
        is_ended_ = false;
        end("aborted");
      },
      seal());
    return rank_aborted{};
  }

  [[nodiscard]] std::array<caf::actor, 4> children() const {
    return {caf::actor_cast<caf::actor>(trainer_),
            caf::actor_cast<caf::actor>(rollout_),
            caf::actor_cast<caf::actor>(cache_),
            caf::actor_cast<caf::actor>(shard_)};
  }

  /// Children before owners: reverse order of spawning, each awaited.
  void stop_next_child() {
    if (rollout_ && num_stopped_ < children().size()) {
      stop_actor(children()[num_stopped_]);
      return;
    }
    stop_answer_->answer({static_cast<std::uint32_t>(num_stopped_)});
    end("stopped");
  }

  void on_down(const caf::down_msg& m) {
    if (is_stopping_
        && m.source != caf::actor_cast<caf::actor_addr>(coordinator_)) {
      ++num_stopped_;
      stop_next_child();
      return;
    }
    if (m.source == caf::actor_cast<caf::actor_addr>(coordinator_)) {
      if (!is_ended_)
        end("the coordinator is lost");
      return;
    }
    end("an actor of the rank ended by itself: "
        + to_failure(m.reason, "actor").chain());
  }

  caf::result<granted> on_reserve(reserve& request) {
    return granted{ledger_.reserve(request.holder, request.purpose,
                                   request.bytes, request.replaces)};
  }

  caf::result<given_up> on_give_up(give_up& request) {
    return given_up{ledger_.give_up(request.grant_id)};
  }

  void end(const std::string& reason) {
    if (std::exchange(is_ended_, true))
      return;
    process_.cards->set_end(reason);
    on_end_(reason);
    this->quit(caf::exit_reason::user_shutdown);
  }

  rank_context& rank_;
  coordinator_actor coordinator_;
  std::function<void(const std::string&)> on_end_;
  machine_instance<rank_machine> machine_;
  memory_ledger ledger_;

  // -- children, in order of spawning -----------------------------------------
  parameter_shard_actor shard_;
  cache_owner_actor cache_;
  rollout_actor rollout_;
  trainer_actor trainer_;

  bool is_stopping_ = false, is_ended_ = false;
  std::size_t num_stopped_ = 0;
  std::optional<open_request<stopped>> stop_answer_;
};

} // namespace

rank_supervisor_actor
spawn_rank_supervisor(caf::actor_system& system, rank_context& rank,
                      const coordinator_actor& coordinator,
                      std::function<void(const std::string&)> on_end) {
  return system.spawn<rank_supervisor>(std::ref(rank), coordinator,
                                       std::move(on_end));
}

} // namespace troupe::actors
