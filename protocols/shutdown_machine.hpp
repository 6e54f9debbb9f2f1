// SPDX-License-Identifier: Apache-2.0
//
// The ordered shutdown (OPERATIONS F.7), owned by the coordinator. A phase ends
// when every member has acknowledged it; a missing acknowledgement, a loss or
// the operator turns it into an abort, which is decided once and never taken
// back. The coordinator is a member, so a phase waits for at least one.
//
// The owner keeps the set of members that are missing. No events are: a
// repeated acknowledgement, one of an earlier phase, an earlier phase's timer,
// and, while aborting, the loss of a member that is not missing. An exit with
// status 0 acknowledges s9; it counts as well if an abort came in between.
// num_members is lowered first when a process is lost or has ended.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct shutdown_machine {
  static constexpr std::string_view name = "shutdown";

  enum class state : std::uint8_t {
    idle,     ///< the job runs
    s1,       ///< admission: nothing new begins
    s2,       ///< fence: gates are closed, the last unit is known
    s3,       ///< drain: ranks run to the fence and no further
    s4,       ///< release: graphs, caches and leases are given back
    s5,       ///< communicators are closed, children before parents
    s6,       ///< CPU groups are closed after a last barrier
    s7,       ///< the rendezvous store closes after its last client
    s8,       ///< actors end, children before owners
    s9,       ///< processes end
    aborting, ///< survivors drop all, the rest is killed
    done,
    count_
  };

  enum class event : std::uint8_t {
    shutdown_requested, ///< the loop has finished
    phase_acked,        ///< one more member acknowledged this phase
    deadline_expired,   ///< of this phase
    peer_lost,          ///< a member's process or connection has ended
    abort_requested,    ///< by the operator, or after a failure
    count_
  };

  enum class guard : std::uint8_t {
    always,
    is_last, ///< nobody else is missing
    is_more, ///< somebody is
    count_
  };

  enum class effect : std::uint8_t {
    none,
    announce_phase, ///< the state entered: journal, then tell all members
    await_all,      ///< every member is missing; the deadline starts
    count_ack,
    begin_abort, ///< a new epoch: tell the survivors, short deadline
    kill_rest,   ///< the launcher: SIGTERM, grace, SIGKILL
    report_done, ///< job: shutdown_finished
    count_
  };

  struct data {
    std::uint16_t num_acks_missing = 0;
    std::uint16_t num_members = 1; ///< the owner's: that have not ended
  };

  static constexpr state initial = state::idle;
  static constexpr bool is_terminal(state s) { return s == state::done; }

  static constexpr auto fields() {
    return std::to_array<field<shutdown_machine>>({
      {"num_acks_missing", &data::num_acks_missing, 2},
      {"num_members", &data::num_members, 2},
    });
  }

  static constexpr auto guards() {
    using g = guard;
    return std::to_array<guard_rule<shutdown_machine>>({
      {g::always, [](const data&) { return true; }, "true"},
      {g::is_last, [](const data& d) { return d.num_acks_missing <= 1; },
       "num_acks_missing <= 1"},
      {g::is_more, [](const data& d) { return d.num_acks_missing > 1; },
       "num_acks_missing > 1"},
    });
  }

  static constexpr auto updates() {
    return std::to_array<update_rule<shutdown_machine>>({
      {effect::await_all, [](data& d) { d.num_acks_missing = d.num_members; },
       "num_acks_missing = num_members"},
      {effect::count_ack, [](data& d) { --d.num_acks_missing; },
       "num_acks_missing = num_acks_missing - 1"},
    });
  }

  static constexpr std::array phases{state::s1, state::s2, state::s3,
                                     state::s4, state::s5, state::s6,
                                     state::s7, state::s8, state::s9};

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    std::array<row<shutdown_machine>, 8 + phases.size() * 5> out{{
      {s::idle, e::shutdown_requested, g::always, s::s1,
       {x::announce_phase, x::await_all}, "the job is over"},
      {s::idle, e::peer_lost, g::always, s::aborting,
       {x::begin_abort, x::await_all}, "no recovery in this version"},
      {s::idle, e::abort_requested, g::always, s::aborting,
       {x::begin_abort, x::await_all}, "the ordered way is skipped"},
      {s::aborting, e::phase_acked, g::is_more, s::aborting,
       {x::count_ack}, "one survivor has dropped all"},
      {s::aborting, e::phase_acked, g::is_last, s::done,
       {x::report_done}, "all survivors have"},
      {s::aborting, e::peer_lost, g::is_more, s::aborting,
       {x::count_ack}, "who is gone has nothing left to drop"},
      {s::aborting, e::peer_lost, g::is_last, s::done,
       {x::report_done}, "who is gone has nothing left to drop"},
      {s::aborting, e::deadline_expired, g::always, s::done,
       {x::kill_rest, x::report_done}, "forced end: exit code 3"},
    }};
    auto next = out.begin() + 8;
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const auto now = phases[i];
      *next++ = {now, e::phase_acked, g::is_more, now,
                 {x::count_ack}, "somebody is missing"};
      *next++ = i + 1 < phases.size()
        ? row<shutdown_machine>{now, e::phase_acked, g::is_last, phases[i + 1],
                                {x::announce_phase, x::await_all},
                                "I7: all have acknowledged, one phase further"}
        : row<shutdown_machine>{now, e::phase_acked, g::is_last, s::done,
                                {x::report_done}, "all processes ended"};
      *next++ = {now, e::deadline_expired, g::always, s::aborting,
                 {x::begin_abort, x::await_all},
                 "I8: who is missing is named in the journal"};
      *next++ = {now, e::peer_lost, g::always, s::aborting,
                 {x::begin_abort, x::await_all},
                 "a phase can't be completed without a member"};
      *next++ = {now, e::abort_requested, g::always, s::aborting,
                 {x::begin_abort, x::await_all},
                 "second Ctrl-C, or a failure on the way"};
    }
    return out;
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    std::array<refusal<shutdown_machine>, 9 + phases.size()> out{{
      {s::idle, e::phase_acked, v::reject, "no phase was announced"},
      {s::idle, e::deadline_expired, v::reject, "no phase was announced"},
      {s::aborting, e::shutdown_requested, v::ignore, "I3: decided once"},
      {s::aborting, e::abort_requested, v::ignore, "I3: decided once"},
      {s::done, e::shutdown_requested, v::ignore, "it is done"},
      {s::done, e::phase_acked, v::ignore, "too late"},
      {s::done, e::deadline_expired, v::ignore, "too late"},
      {s::done, e::peer_lost, v::ignore, "it was to end"},
      {s::done, e::abort_requested, v::ignore, "it is done"},
    }};
    for (std::size_t i = 0; i < phases.size(); ++i)
      out[9 + i] = {phases[i], e::shutdown_requested, v::ignore,
                    "it is under way"};
    return out;
  }
};

static_assert(step<shutdown_machine>(shutdown_machine::state::s4,
                                     {.num_acks_missing = 2},
                                     shutdown_machine::event::phase_acked)
                .taken->to
              == shutdown_machine::state::s4); // I2

} // namespace troupe::protocols
