// SPDX-License-Identifier: Apache-2.0
//
// The life of any actor, kept by the actor base. `busy` counts what the actor
// has under way: requests that it has not answered yet. `lost` is recorded by
// the coordinator when the process is gone, from the card that is left.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct actor_machine {
  static constexpr std::string_view name = "actor";

  enum class state : std::uint8_t {
    starting, ///< spawned, not yet able to take a request
    ready,    ///< nothing is under way
    busy,     ///< at least one request is
    draining, ///< takes nothing new, finishes what is under way
    stopped,  ///< ended in order
    failed,   ///< ended by an error of its own
    lost,     ///< its process is gone
    count_
  };

  enum class event : std::uint8_t {
    started,
    request_accepted,
    request_answered, ///< with a result or an error
    drain_requested,
    stop_requested, ///< without waiting
    failure_raised, ///< one that it can't answer for
    process_lost,
    count_
  };

  enum class guard : std::uint8_t {
    always,
    is_more, ///< than one request is under way
    is_last,
    is_one,
    is_none,
    count_
  };

  enum class effect : std::uint8_t {
    none,
    count_request,
    uncount_request,
    clear_requests, ///< the last one
    answer_drained,
    drop_requests, ///< each is answered with an error
    answer_stopped,
    answer_refused,
    report_failure, ///< owner, with the cause chain
    count_
  };

  struct data {
    std::uint16_t num_requests = 0; ///< accepted and not answered
  };

  static constexpr state initial = state::starting;
  static constexpr bool is_terminal(state s) {
    return s == state::stopped || s == state::failed || s == state::lost;
  }

  static constexpr auto fields() {
    return std::to_array<field<actor_machine>>(
      {{"num_requests", &data::num_requests, 2}});
  }

  static constexpr auto guards() {
    using g = guard;
    return std::to_array<guard_rule<actor_machine>>({
      {g::always, [](const data&) { return true; }, "true"},
      {g::is_more, [](const data& d) { return d.num_requests > 1; },
       "num_requests > 1"},
      {g::is_last, [](const data& d) { return d.num_requests <= 1; },
       "num_requests <= 1"},
      {g::is_one, [](const data& d) { return d.num_requests == 1; },
       "num_requests == 1"},
      {g::is_none, [](const data& d) { return d.num_requests == 0; },
       "num_requests == 0"},
    });
  }

  static constexpr auto updates() {
    return std::to_array<update_rule<actor_machine>>({
      {effect::count_request, [](data& d) { ++d.num_requests; },
       "num_requests = num_requests + 1"},
      {effect::uncount_request, [](data& d) { --d.num_requests; },
       "num_requests = num_requests - 1"},
      {effect::clear_requests, [](data& d) { d.num_requests = 0; },
       "num_requests = 0"},
      {effect::drop_requests, [](data& d) { d.num_requests = 0; },
       "num_requests = 0"},
    });
  }

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    return std::to_array<row<actor_machine>>({
      // starting
      {s::starting, e::started, g::always, s::ready, {}, "it can work"},
      {s::starting, e::drain_requested, g::always, s::draining,
       {x::answer_drained}, "nothing is under way"},
      {s::starting, e::stop_requested, g::always, s::stopped,
       {x::answer_stopped}, "nothing is under way"},
      {s::starting, e::failure_raised, g::always, s::failed,
       {x::report_failure}, "it can't start"},
      {s::starting, e::process_lost, g::always, s::lost,
       {x::report_failure}, "lost with its process"},
      // ready
      {s::ready, e::request_accepted, g::always, s::busy,
       {x::count_request}, "first one"},
      {s::ready, e::drain_requested, g::always, s::draining,
       {x::answer_drained}, "nothing is under way"},
      {s::ready, e::stop_requested, g::always, s::stopped,
       {x::answer_stopped}, "nothing is under way"},
      {s::ready, e::failure_raised, g::always, s::failed,
       {x::report_failure}, "its owner decides"},
      {s::ready, e::process_lost, g::always, s::lost,
       {x::report_failure}, "lost with its process"},
      // busy
      {s::busy, e::request_accepted, g::always, s::busy,
       {x::count_request}, "one more"},
      {s::busy, e::request_answered, g::is_more, s::busy,
       {x::uncount_request}, "others are under way"},
      {s::busy, e::request_answered, g::is_last, s::ready,
       {x::clear_requests}, "that was the last"},
      {s::busy, e::drain_requested, g::always, s::draining,
       {}, "what is under way is finished first"},
      {s::busy, e::stop_requested, g::always, s::stopped,
       {x::drop_requests, x::answer_stopped}, "nobody waits in vain"},
      {s::busy, e::failure_raised, g::always, s::failed,
       {x::drop_requests, x::report_failure}, "nobody waits in vain"},
      {s::busy, e::process_lost, g::always, s::lost,
       {x::report_failure}, "lost with its process"},
      // draining
      {s::draining, e::request_answered, g::is_more, s::draining,
       {x::uncount_request}, "others are under way"},
      {s::draining, e::request_answered, g::is_one, s::draining,
       {x::clear_requests, x::answer_drained}, "that was the last"},
      {s::draining, e::request_answered, g::is_none, s::draining,
       {x::answer_refused}, "none is under way"},
      {s::draining, e::stop_requested, g::always, s::stopped,
       {x::drop_requests, x::answer_stopped}, "nobody waits in vain"},
      {s::draining, e::failure_raised, g::always, s::failed,
       {x::drop_requests, x::report_failure}, "nobody waits in vain"},
      {s::draining, e::process_lost, g::always, s::lost,
       {x::report_failure}, "lost with its process"},
    });
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    return std::to_array<refusal<actor_machine>>({
      {s::starting, e::request_accepted, v::defer, "until it has started"},
      {s::starting, e::request_answered, v::reject, "none is under way"},
      {s::ready, e::started, v::reject, "it has started"},
      {s::ready, e::request_answered, v::reject, "none is under way"},
      {s::busy, e::started, v::reject, "it has started"},
      {s::draining, e::started, v::ignore, "it was told to drain first"},
      {s::draining, e::request_accepted, v::reject, "it takes nothing new"},
      {s::draining, e::drain_requested, v::ignore, "it drains already"},
      {s::stopped, e::started, v::ignore, "it has ended"},
      {s::stopped, e::request_accepted, v::reject, "it has ended"},
      {s::stopped, e::request_answered, v::ignore, "dropped with an error"},
      {s::stopped, e::drain_requested, v::reject, "it has ended"},
      {s::stopped, e::stop_requested, v::ignore, "it has ended"},
      {s::stopped, e::failure_raised, v::ignore, "it has ended"},
      {s::stopped, e::process_lost, v::ignore, "it ended before"},
      {s::failed, e::started, v::ignore, "it has ended"},
      {s::failed, e::request_accepted, v::reject, "it has failed"},
      {s::failed, e::request_answered, v::ignore, "dropped with an error"},
      {s::failed, e::drain_requested, v::reject, "it has failed"},
      {s::failed, e::stop_requested, v::ignore, "it has ended"},
      {s::failed, e::failure_raised, v::ignore, "the first cause counts"},
      {s::failed, e::process_lost, v::ignore, "it ended before"},
      {s::lost, e::started, v::ignore, "it is lost"},
      {s::lost, e::request_accepted, v::reject, "it is lost"},
      {s::lost, e::request_answered, v::ignore, "it is lost"},
      {s::lost, e::drain_requested, v::reject, "it is lost"},
      {s::lost, e::stop_requested, v::ignore, "it is lost"},
      {s::lost, e::failure_raised, v::ignore, "it is lost"},
      {s::lost, e::process_lost, v::ignore, "once is enough"},
    });
  }
};

} // namespace troupe::protocols
