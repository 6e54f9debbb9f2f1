// SPDX-License-Identifier: Apache-2.0
//
// A rank process: joins, loads its part of the model, works, and is taken down
// in the order of the shutdown. The rank supervisor owns it; `lost` is set by
// the coordinator, which keeps a copy. What the rank does while it is ready is
// in the machines of its actors. A request that is ignored is acknowledged all
// the same.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct rank_machine {
  static constexpr std::string_view name = "rank";

  enum class state : std::uint8_t {
    spawned,  ///< the process exists
    joined,   ///< the coordinator knows it, under this job epoch
    ready,    ///< its actors have loaded what the placement says
    draining, ///< the gate is closed: it runs to the fence and no further
    released, ///< graphs, cache and leases are given back
    stopped,  ///< it ended in order
    lost,     ///< it ended otherwise
    count_
  };

  enum class event : std::uint8_t {
    join_accepted,
    join_refused, ///< a stale epoch, or another version
    placed,       ///< model and actors are there
    drain_requested,
    fence_reached, ///< the fence unit is complete, streams are idle
    release_requested,
    stop_requested,
    abort_requested, ///< drop everything now
    process_lost,
    count_
  };

  enum class guard : std::uint8_t {
    always,
    fenced,
    unfenced, ///< a unit may still be running
    count_
  };

  enum class effect : std::uint8_t {
    none,
    answer_joined,
    answer_placed,
    close_gate,
    mark_fenced,
    answer_drained,
    release_resources, ///< graphs, then cache, then grants
    answer_released,
    stop_actors, ///< children before owners
    drop_all,    ///< no unit is awaited
    answer_stopped,
    answer_aborted,
    answer_refused,
    report_lost, ///< job: failure_reported, with the last card
    count_
  };

  struct data {
    bool is_fenced = false;
  };

  static constexpr state initial = state::spawned;
  static constexpr bool is_terminal(state s) {
    return s == state::stopped || s == state::lost;
  }

  static constexpr auto fields() {
    return std::to_array<field<rank_machine>>(
      {{"is_fenced", &data::is_fenced}});
  }

  static constexpr auto guards() {
    using g = guard;
    return std::to_array<guard_rule<rank_machine>>({
      {g::always, [](const data&) { return true; }, "true"},
      {g::fenced, [](const data& d) { return d.is_fenced; }, "is_fenced"},
      {g::unfenced, [](const data& d) { return !d.is_fenced; }, "!is_fenced"},
    });
  }

  static constexpr auto updates() {
    return std::to_array<update_rule<rank_machine>>(
      {{effect::mark_fenced, [](data& d) { d.is_fenced = true; },
        "is_fenced = true"}});
  }

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    return std::to_array<row<rank_machine>>({
      // spawned
      {s::spawned, e::join_accepted, g::always, s::joined,
       {x::answer_joined}, "version and epoch agree"},
      {s::spawned, e::join_refused, g::always, s::stopped,
       {x::drop_all}, "a stale rank must not work"},
      {s::spawned, e::stop_requested, g::always, s::stopped,
       {x::answer_stopped}, "nothing was loaded"},
      {s::spawned, e::abort_requested, g::always, s::stopped,
       {x::drop_all, x::answer_aborted}, "nothing was loaded"},
      {s::spawned, e::process_lost, g::always, s::lost,
       {x::report_lost}, "it never joined"},
      // joined
      {s::joined, e::placed, g::always, s::ready,
       {x::answer_placed}, "its actors are ready"},
      {s::joined, e::drain_requested, g::always, s::draining,
       {x::close_gate, x::mark_fenced, x::answer_drained},
       "no unit was started"},
      {s::joined, e::abort_requested, g::always, s::stopped,
       {x::drop_all, x::answer_aborted}, "no unit is awaited"},
      {s::joined, e::process_lost, g::always, s::lost,
       {x::report_lost}, "lost while loading"},
      // ready
      {s::ready, e::drain_requested, g::always, s::draining,
       {x::close_gate}, "S2: the last started unit is the answer"},
      {s::ready, e::abort_requested, g::always, s::stopped,
       {x::drop_all, x::answer_aborted}, "no unit is awaited"},
      {s::ready, e::process_lost, g::always, s::lost,
       {x::report_lost}, "a crash, the OOM killer, or an operator"},
      // draining
      {s::draining, e::fence_reached, g::unfenced, s::draining,
       {x::mark_fenced, x::answer_drained}, "I1: this unit and no later one"},
      {s::draining, e::fence_reached, g::fenced, s::draining,
       {x::answer_drained}, "repeated messages are acknowledged again"},
      {s::draining, e::release_requested, g::fenced, s::released,
       {x::release_resources, x::answer_released}, "S4"},
      {s::draining, e::release_requested, g::unfenced, s::draining,
       {x::answer_refused}, "I1: a unit may still be running"},
      {s::draining, e::abort_requested, g::always, s::stopped,
       {x::drop_all, x::answer_aborted}, "no unit is awaited"},
      {s::draining, e::process_lost, g::always, s::lost,
       {x::report_lost}, "lost on the way to the fence"},
      // released
      {s::released, e::release_requested, g::always, s::released,
       {x::answer_released}, "repeated messages are acknowledged again"},
      {s::released, e::stop_requested, g::always, s::stopped,
       {x::stop_actors, x::answer_stopped}, "S9"},
      {s::released, e::abort_requested, g::always, s::stopped,
       {x::drop_all, x::answer_aborted}, "little is left to drop"},
      {s::released, e::process_lost, g::always, s::lost,
       {x::report_lost}, "lost in the teardown"},
    });
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    return std::to_array<refusal<rank_machine>>({
      {s::spawned, e::placed, v::reject, "join first"},
      {s::spawned, e::drain_requested, v::reject, "join first"},
      {s::spawned, e::fence_reached, v::reject, "no unit was started"},
      {s::spawned, e::release_requested, v::reject, "nothing is held"},
      {s::joined, e::join_accepted, v::ignore, "it has joined"},
      {s::joined, e::join_refused, v::reject, "it has joined"},
      {s::joined, e::fence_reached, v::reject, "no unit was started"},
      {s::joined, e::release_requested, v::reject, "drain first"},
      {s::joined, e::stop_requested, v::reject, "drain first"},
      {s::ready, e::join_accepted, v::ignore, "it has joined"},
      {s::ready, e::join_refused, v::reject, "it has joined"},
      {s::ready, e::placed, v::reject, "it is placed"},
      {s::ready, e::fence_reached, v::reject, "no fence was set"},
      {s::ready, e::release_requested, v::reject, "drain first"},
      {s::ready, e::stop_requested, v::reject, "drain first"},
      {s::draining, e::join_accepted, v::ignore, "it has joined"},
      {s::draining, e::join_refused, v::reject, "it has joined"},
      {s::draining, e::placed, v::ignore, "too late, it drains"},
      {s::draining, e::drain_requested, v::ignore, "it drains already"},
      {s::draining, e::stop_requested, v::reject, "release first"},
      {s::released, e::join_accepted, v::ignore, "it has joined"},
      {s::released, e::join_refused, v::reject, "it has joined"},
      {s::released, e::placed, v::ignore, "too late, it drained"},
      {s::released, e::drain_requested, v::ignore, "it has drained"},
      {s::released, e::fence_reached, v::ignore, "it is past it"},
      {s::stopped, e::join_accepted, v::reject, "it has ended"},
      {s::stopped, e::join_refused, v::ignore, "it has ended"},
      {s::stopped, e::placed, v::ignore, "it has ended"},
      {s::stopped, e::drain_requested, v::reject, "it has ended"},
      {s::stopped, e::fence_reached, v::ignore, "it has ended"},
      {s::stopped, e::release_requested, v::reject, "it has ended"},
      {s::stopped, e::stop_requested, v::ignore, "it has ended"},
      {s::stopped, e::abort_requested, v::ignore, "it has ended"},
      {s::stopped, e::process_lost, v::ignore, "the process was to end"},
      {s::lost, e::join_accepted, v::reject, "it is lost"},
      {s::lost, e::join_refused, v::ignore, "it is lost"},
      {s::lost, e::placed, v::ignore, "it is lost"},
      {s::lost, e::drain_requested, v::reject, "it is lost"},
      {s::lost, e::fence_reached, v::ignore, "it is lost"},
      {s::lost, e::release_requested, v::reject, "it is lost"},
      {s::lost, e::stop_requested, v::ignore, "it is lost"},
      {s::lost, e::abort_requested, v::ignore, "it is lost"},
      {s::lost, e::process_lost, v::ignore, "once is enough"},
    });
  }
};

} // namespace troupe::protocols
