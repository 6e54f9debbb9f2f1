// SPDX-License-Identifier: Apache-2.0
//
// The job as the coordinator sees it, from the accepted job file to the end of
// its teardown. What is torn down in which order is the shutdown machine's
// business; this one says whether the job as a whole has failed.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct job_machine {
  static constexpr std::string_view name = "job";

  enum class state : std::uint8_t {
    submitted, ///< the job file is accepted, nothing was started
    placing,   ///< ranks and memory are being assigned, nothing was started
    joining,   ///< ranks were spawned; they join and load
    running,   ///< the loop drives the job
    draining,  ///< asked to stop: the loop ends its unit, saves and returns
    closing,   ///< the shutdown machine works
    done,      ///< all torn down; the job did what it was asked to
    failed,    ///< all torn down after a failure or an abort
    count_
  };

  enum class event : std::uint8_t {
    placement_began,
    placed,            ///< the plan fits: ranks may be spawned
    ranks_joined,      ///< every rank of the plan is ready
    drain_requested,   ///< first Ctrl-C, or an operator's request
    loop_finished,     ///< the loop returned, its last checkpoint is sealed
    loop_failed,       ///< the loop gave up; all processes are whole
    failure_reported,  ///< refusal, loss of a process, or an exhausted deadline
    abort_requested,   ///< second Ctrl-C
    shutdown_finished, ///< the shutdown machine is done
    count_
  };

  enum class guard : std::uint8_t {
    always,
    wanted,      ///< nobody has asked to stop
    drain_asked, ///< somebody has, before the ranks had joined
    succeeded,
    has_failed,
    count_
  };

  enum class effect : std::uint8_t {
    none,
    plan_placement,
    spawn_ranks,
    start_loop,
    ask_loop_to_stop,
    save_initial, ///< a checkpoint of what was loaded, then close
    note_drain,   ///< the wish is kept until the ranks have joined
    mark_failed,
    record_cause, ///< the first one is what the summary names
    warn,         ///< a fault in the teardown of a job that had succeeded
    begin_shutdown,
    begin_abort,
    write_summary,
    count_
  };

  struct data {
    bool is_drain_asked = false;
    bool is_failed = false;
  };

  static constexpr state initial = state::submitted;
  static constexpr bool is_terminal(state s) {
    return s == state::done || s == state::failed;
  }

  static constexpr auto fields() {
    return std::to_array<field<job_machine>>({
      {"is_drain_asked", &data::is_drain_asked},
      {"is_failed", &data::is_failed},
    });
  }

  static constexpr auto guards() {
    using g = guard;
    return std::to_array<guard_rule<job_machine>>({
      {g::always, [](const data&) { return true; }, "true"},
      {g::wanted, [](const data& d) { return !d.is_drain_asked; },
       "!is_drain_asked"},
      {g::drain_asked, [](const data& d) { return d.is_drain_asked; },
       "is_drain_asked"},
      {g::succeeded, [](const data& d) { return !d.is_failed; }, "!is_failed"},
      {g::has_failed, [](const data& d) { return d.is_failed; }, "is_failed"},
    });
  }

  static constexpr auto updates() {
    return std::to_array<update_rule<job_machine>>({
      {effect::note_drain, [](data& d) { d.is_drain_asked = true; },
       "is_drain_asked = true"},
      {effect::mark_failed, [](data& d) { d.is_failed = true; },
       "is_failed = true"},
    });
  }

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    return std::to_array<row<job_machine>>({
      // submitted
      {s::submitted, e::placement_began, g::always, s::placing,
       {x::plan_placement}, "the job file is resolved and written"},
      {s::submitted, e::drain_requested, g::always, s::submitted,
       {x::note_drain}, "a checkpoint of step 0 needs the model first"},
      {s::submitted, e::failure_reported, g::always, s::failed,
       {x::mark_failed, x::record_cause, x::write_summary},
       "nothing was started, nothing is to be closed"},
      {s::submitted, e::abort_requested, g::always, s::failed,
       {x::mark_failed, x::record_cause, x::write_summary},
       "nothing was started, nothing is to be closed"},
      // placing
      {s::placing, e::placed, g::always, s::joining,
       {x::spawn_ranks}, "the plan fits"},
      {s::placing, e::drain_requested, g::always, s::placing,
       {x::note_drain}, "a checkpoint of step 0 needs the model first"},
      {s::placing, e::failure_reported, g::always, s::failed,
       {x::mark_failed, x::record_cause, x::write_summary},
       "the plan does not fit; no process was started"},
      {s::placing, e::abort_requested, g::always, s::failed,
       {x::mark_failed, x::record_cause, x::write_summary},
       "no process was started"},
      // joining
      {s::joining, e::ranks_joined, g::wanted, s::running,
       {x::start_loop}, "every rank is ready"},
      {s::joining, e::ranks_joined, g::drain_asked, s::draining,
       {x::save_initial}, "stopped while loading: step 0 is saved"},
      {s::joining, e::drain_requested, g::always, s::joining,
       {x::note_drain}, "a checkpoint of step 0 needs the model first"},
      {s::joining, e::failure_reported, g::always, s::closing,
       {x::mark_failed, x::record_cause, x::begin_abort},
       "no recovery in this version: the loss of a rank ends the job"},
      {s::joining, e::abort_requested, g::always, s::closing,
       {x::mark_failed, x::record_cause, x::begin_abort}, "by the operator"},
      // running
      {s::running, e::loop_finished, g::always, s::closing,
       {x::begin_shutdown}, "the last step is done and saved"},
      {s::running, e::drain_requested, g::always, s::draining,
       {x::ask_loop_to_stop}, "first Ctrl-C: end the unit, save, close"},
      {s::running, e::loop_failed, g::always, s::closing,
       {x::mark_failed, x::record_cause, x::begin_shutdown},
       "nothing is lost: the ordered way down"},
      {s::running, e::failure_reported, g::always, s::closing,
       {x::mark_failed, x::record_cause, x::begin_abort},
       "no recovery in this version: resume from the newest checkpoint"},
      {s::running, e::abort_requested, g::always, s::closing,
       {x::mark_failed, x::record_cause, x::begin_abort}, "by the operator"},
      // draining
      {s::draining, e::loop_finished, g::always, s::closing,
       {x::begin_shutdown}, "what was trained is saved"},
      {s::draining, e::loop_failed, g::always, s::closing,
       {x::mark_failed, x::record_cause, x::begin_shutdown},
       "the promised checkpoint may be missing: not a success"},
      {s::draining, e::failure_reported, g::always, s::closing,
       {x::mark_failed, x::record_cause, x::begin_abort},
       "the promised checkpoint may be missing: not a success"},
      {s::draining, e::abort_requested, g::always, s::closing,
       {x::mark_failed, x::record_cause, x::begin_abort}, "second Ctrl-C"},
      // closing
      {s::closing, e::failure_reported, g::always, s::closing,
       {x::warn, x::begin_abort},
       "a teardown fault changes the way down, not the result"},
      {s::closing, e::abort_requested, g::always, s::closing,
       {x::mark_failed, x::record_cause, x::begin_abort}, "second Ctrl-C"},
      {s::closing, e::shutdown_finished, g::succeeded, s::done,
       {x::write_summary}, "exit code 0, also after one Ctrl-C"},
      {s::closing, e::shutdown_finished, g::has_failed, s::failed,
       {x::write_summary}, "exit code 1, or 130 when the operator aborted"},
    });
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    return std::to_array<refusal<job_machine>>({
      {s::submitted, e::placed, v::reject, "no placement began"},
      {s::submitted, e::ranks_joined, v::reject, "no rank was spawned"},
      {s::submitted, e::loop_finished, v::reject, "no loop was started"},
      {s::submitted, e::loop_failed, v::reject, "no loop was started"},
      {s::submitted, e::shutdown_finished, v::reject, "none began"},
      {s::placing, e::placement_began, v::reject, "it did already"},
      {s::placing, e::ranks_joined, v::reject, "no rank was spawned"},
      {s::placing, e::loop_finished, v::reject, "no loop was started"},
      {s::placing, e::loop_failed, v::reject, "no loop was started"},
      {s::placing, e::shutdown_finished, v::reject, "none began"},
      {s::joining, e::placement_began, v::reject, "the job is placed"},
      {s::joining, e::placed, v::reject, "the job is placed"},
      {s::joining, e::loop_finished, v::reject, "no loop was started"},
      {s::joining, e::loop_failed, v::reject, "no loop was started"},
      {s::joining, e::shutdown_finished, v::reject, "none began"},
      {s::running, e::placement_began, v::reject, "the job is placed"},
      {s::running, e::placed, v::reject, "the job is placed"},
      {s::running, e::ranks_joined, v::reject, "they had joined"},
      {s::running, e::shutdown_finished, v::reject, "none began"},
      {s::draining, e::placement_began, v::reject, "the job is placed"},
      {s::draining, e::placed, v::reject, "the job is placed"},
      {s::draining, e::ranks_joined, v::reject, "they had joined"},
      {s::draining, e::drain_requested, v::ignore, "it drains already"},
      {s::draining, e::shutdown_finished, v::reject, "none began"},
      {s::closing, e::placement_began, v::reject, "the job is closing"},
      {s::closing, e::placed, v::reject, "the job is closing"},
      {s::closing, e::ranks_joined, v::ignore, "too late, they are told"},
      {s::closing, e::drain_requested, v::ignore, "it closes already"},
      {s::closing, e::loop_finished, v::ignore, "it was cut short"},
      {s::closing, e::loop_failed, v::ignore, "the first cause counts"},
      {s::done, e::placement_began, v::reject, "the job has ended"},
      {s::done, e::placed, v::reject, "the job has ended"},
      {s::done, e::ranks_joined, v::reject, "the job has ended"},
      {s::done, e::drain_requested, v::ignore, "the job has ended"},
      {s::done, e::loop_finished, v::reject, "the job has ended"},
      {s::done, e::loop_failed, v::reject, "the job has ended"},
      {s::done, e::failure_reported, v::ignore, "the job has ended"},
      {s::done, e::abort_requested, v::ignore, "the job has ended"},
      {s::done, e::shutdown_finished, v::reject, "the job has ended"},
      {s::failed, e::placement_began, v::reject, "the job has ended"},
      {s::failed, e::placed, v::ignore, "the plan comes too late"},
      {s::failed, e::ranks_joined, v::reject, "the job has ended"},
      {s::failed, e::drain_requested, v::ignore, "the job has ended"},
      {s::failed, e::loop_finished, v::ignore, "it was cut short"},
      {s::failed, e::loop_failed, v::ignore, "the first cause counts"},
      {s::failed, e::failure_reported, v::ignore, "the first cause counts"},
      {s::failed, e::abort_requested, v::ignore, "the job has ended"},
      {s::failed, e::shutdown_finished, v::reject, "the job has ended"},
    });
  }
};

} // namespace troupe::protocols
