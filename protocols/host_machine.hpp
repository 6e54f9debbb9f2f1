// SPDX-License-Identifier: Apache-2.0
//
// A host as the coordinator sees it: its agent's heartbeats and its part in the
// shutdown. `suspect` is a warning and takes nothing away; `lost` is final, and
// a host that comes back joins anew under another incarnation.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct host_machine {
  static constexpr std::string_view name = "host";

  enum class state : std::uint8_t {
    joining,  ///< its agent is expected
    up,       ///< heartbeats arrive
    suspect,  ///< some are missing
    lost,     ///< given up; its ranks are lost with it
    draining, ///< its processes are ending
    gone,     ///< ended in order
    count_
  };

  enum class event : std::uint8_t {
    agent_joined,
    heartbeat_received,
    heartbeat_missed,
    deadline_expired, ///< for joining, for a heartbeat, or for draining
    connection_lost,
    drain_requested,
    drained, ///< every process of the host has ended
    count_
  };

  enum class guard : std::uint8_t { always, count_ };

  enum class effect : std::uint8_t {
    none,
    report_joined,
    warn,
    report_lost, ///< ranks: process_lost; job: failure_reported
    tell_drain,
    report_gone,
    count_
  };

  struct data {};

  static constexpr state initial = state::joining;
  static constexpr bool is_terminal(state s) {
    return s == state::lost || s == state::gone;
  }

  static constexpr auto fields() {
    return std::array<field<host_machine>, 0>{};
  }

  static constexpr auto guards() {
    return std::to_array<guard_rule<host_machine>>(
      {{guard::always, [](const data&) { return true; }, "true"}});
  }

  static constexpr auto updates() {
    return std::array<update_rule<host_machine>, 0>{};
  }

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    return std::to_array<row<host_machine>>({
      {s::joining, e::agent_joined, g::always, s::up,
       {x::report_joined}, "version and epoch agree"},
      {s::joining, e::deadline_expired, g::always, s::lost,
       {x::report_lost}, "it never came"},
      {s::joining, e::connection_lost, g::always, s::lost,
       {x::report_lost}, "it ended while it was joining"},
      {s::joining, e::drain_requested, g::always, s::draining,
       {x::tell_drain}, "the job ends before all have joined"},
      {s::up, e::heartbeat_missed, g::always, s::suspect,
       {x::warn}, "a slow host is not a lost one"},
      {s::up, e::connection_lost, g::always, s::lost,
       {x::report_lost}, "its agent has ended, or the network"},
      {s::up, e::drain_requested, g::always, s::draining,
       {x::tell_drain}, "S9"},
      {s::suspect, e::heartbeat_received, g::always, s::up,
       {}, "it was only slow"},
      {s::suspect, e::deadline_expired, g::always, s::lost,
       {x::report_lost}, "silent for too long"},
      {s::suspect, e::connection_lost, g::always, s::lost,
       {x::report_lost}, "its agent has ended, or the network"},
      {s::suspect, e::drain_requested, g::always, s::draining,
       {x::tell_drain}, "S9"},
      {s::draining, e::drained, g::always, s::gone,
       {x::report_gone}, "all exit statuses are known"},
      {s::draining, e::deadline_expired, g::always, s::lost,
       {x::report_lost}, "it did not end in time"},
      {s::draining, e::connection_lost, g::always, s::lost,
       {x::report_lost}, "it ended without a report"},
    });
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    return std::to_array<refusal<host_machine>>({
      {s::joining, e::heartbeat_received, v::reject, "join first"},
      {s::joining, e::heartbeat_missed, v::ignore, "none is expected yet"},
      {s::joining, e::drained, v::reject, "no drain was requested"},
      {s::up, e::agent_joined, v::reject, "it has joined"},
      {s::up, e::heartbeat_received, v::ignore, "as it should"},
      {s::up, e::deadline_expired, v::ignore, "the heartbeat came"},
      {s::up, e::drained, v::reject, "no drain was requested"},
      {s::suspect, e::agent_joined, v::reject, "it has joined"},
      {s::suspect, e::heartbeat_missed, v::ignore, "the deadline decides"},
      {s::suspect, e::drained, v::reject, "no drain was requested"},
      {s::draining, e::agent_joined, v::reject, "the job ends"},
      {s::draining, e::heartbeat_received, v::ignore, "as it should"},
      {s::draining, e::heartbeat_missed, v::ignore, "the deadline decides"},
      {s::draining, e::drain_requested, v::ignore, "it drains already"},
      {s::lost, e::agent_joined, v::reject, "it needs a new incarnation"},
      {s::lost, e::heartbeat_received, v::reject, "it was given up"},
      {s::lost, e::heartbeat_missed, v::ignore, "it was given up"},
      {s::lost, e::deadline_expired, v::ignore, "it was given up"},
      {s::lost, e::connection_lost, v::ignore, "it was given up"},
      {s::lost, e::drain_requested, v::ignore, "it was given up"},
      {s::lost, e::drained, v::ignore, "it was given up"},
      {s::gone, e::agent_joined, v::reject, "it needs a new incarnation"},
      {s::gone, e::heartbeat_received, v::reject, "it has ended"},
      {s::gone, e::heartbeat_missed, v::ignore, "it has ended"},
      {s::gone, e::deadline_expired, v::ignore, "it has ended"},
      {s::gone, e::connection_lost, v::ignore, "it has ended"},
      {s::gone, e::drain_requested, v::ignore, "it has ended"},
      {s::gone, e::drained, v::ignore, "it has ended"},
    });
  }
};

} // namespace troupe::protocols
