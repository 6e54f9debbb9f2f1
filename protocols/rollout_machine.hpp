// SPDX-License-Identifier: Apache-2.0
//
// The rollout of a rank: what it may do with the weights that it was told of.
// Slots have their own machine, memory is the cache owner's, and the decode
// graph gets a machine of its own.
//
// View and lease are asked for before generate_requested or resume_requested
// is applied. While the answer is out the owner applies no other request, but
// does apply notices of the shard, which were sent before the answer. When view
// and lease have come it asks again whether they are needed, and gives them
// back if not. tests/checks/models/weights.pml is the proof.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct rollout_machine {
  static constexpr std::string_view name = "rollout";

  enum class state : std::uint8_t {
    unpublished, ///< has no whole weights: generates nothing
    ready,       ///< has weights and no group under way
    generating,  ///< holds a view of the weights and a lease on the cache
    paused,      ///< keeps its groups, holds no view
    draining,    ///< takes no new group, finishes what it has
    stopped,
    count_
  };

  enum class event : std::uint8_t {
    weights_changed, ///< a whole version is there
    weights_torn,
    generate_requested, ///< one more group
    group_finished,     ///< generated, failed or aborted; answered
    pause_requested,
    resume_requested,
    drain_requested,
    stop_requested, ///< without waiting
    count_
  };

  enum class guard : std::uint8_t {
    always,
    is_more, ///< than one group is under way
    is_last,
    is_one,
    has_groups,
    is_idle,
    count_
  };

  enum class effect : std::uint8_t {
    none,
    acknowledge_weights, ///< derived data are current again
    count_group,
    uncount_group,
    clear_groups,  ///< the last one
    admit_group,   ///< to the scheduler, first in, first out
    take_view,     ///< and the lease on the cache
    return_view,   ///< and the lease on the cache
    drop_groups,   ///< each is answered with an error
    refresh_cache, ///< as rollout.kv_on_update says
    answer_paused,
    answer_resumed,
    answer_drained,
    answer_stopped,
    answer_refused,
    count_
  };

  struct data {
    std::uint16_t num_groups = 0; ///< admitted and not answered
  };

  static constexpr state initial = state::unpublished;
  static constexpr bool is_terminal(state s) { return s == state::stopped; }

  static constexpr auto fields() {
    return std::to_array<field<rollout_machine>>(
      {{"num_groups", &data::num_groups, 2}});
  }

  static constexpr auto guards() {
    using g = guard;
    return std::to_array<guard_rule<rollout_machine>>({
      {g::always, [](const data&) { return true; }, "true"},
      {g::is_more, [](const data& d) { return d.num_groups > 1; },
       "num_groups > 1"},
      {g::is_last, [](const data& d) { return d.num_groups <= 1; },
       "num_groups <= 1"},
      {g::is_one, [](const data& d) { return d.num_groups == 1; },
       "num_groups == 1"},
      {g::has_groups, [](const data& d) { return d.num_groups > 0; },
       "num_groups > 0"},
      {g::is_idle, [](const data& d) { return d.num_groups == 0; },
       "num_groups == 0"},
    });
  }

  static constexpr auto updates() {
    return std::to_array<update_rule<rollout_machine>>({
      {effect::count_group, [](data& d) { ++d.num_groups; },
       "num_groups = num_groups + 1"},
      {effect::uncount_group, [](data& d) { --d.num_groups; },
       "num_groups = num_groups - 1"},
      {effect::clear_groups, [](data& d) { d.num_groups = 0; },
       "num_groups = 0"},
      {effect::drop_groups, [](data& d) { d.num_groups = 0; },
       "num_groups = 0"},
    });
  }

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    return std::to_array<row<rollout_machine>>({
      // unpublished
      {s::unpublished, e::weights_changed, g::always, s::ready,
       {x::acknowledge_weights}, "first whole version"},
      {s::unpublished, e::drain_requested, g::always, s::draining,
       {x::answer_drained}, "no group is under way"},
      {s::unpublished, e::stop_requested, g::always, s::stopped,
       {x::answer_stopped}, "no group is under way"},
      // ready
      {s::ready, e::generate_requested, g::always, s::generating,
       {x::take_view, x::count_group, x::admit_group},
       "refused earlier if view or lease were"},
      {s::ready, e::weights_changed, g::always, s::ready,
       {x::acknowledge_weights}, "values changed in place"},
      {s::ready, e::weights_torn, g::always, s::unpublished,
       {}, "rule 6: serves nothing"},
      {s::ready, e::pause_requested, g::always, s::paused,
       {x::answer_paused}, "nothing is under way"},
      {s::ready, e::drain_requested, g::always, s::draining,
       {x::answer_drained}, "nothing is under way"},
      {s::ready, e::stop_requested, g::always, s::stopped,
       {x::answer_stopped}, "nothing is under way"},
      // generating
      {s::generating, e::generate_requested, g::always, s::generating,
       {x::count_group, x::admit_group}, "continuous batching"},
      {s::generating, e::group_finished, g::is_more, s::generating,
       {x::uncount_group}, "others are under way"},
      {s::generating, e::group_finished, g::is_last, s::ready,
       {x::clear_groups, x::return_view}, "the trainer may write"},
      {s::generating, e::weights_torn, g::always, s::unpublished,
       {x::drop_groups, x::return_view}, "rule 6: serves nothing"},
      {s::generating, e::pause_requested, g::always, s::paused,
       {x::return_view, x::answer_paused}, "after the quantum under way"},
      {s::generating, e::drain_requested, g::always, s::draining,
       {}, "groups under way are finished first"},
      {s::generating, e::stop_requested, g::always, s::stopped,
       {x::drop_groups, x::return_view, x::answer_stopped},
       "nobody waits in vain"},
      // paused
      {s::paused, e::generate_requested, g::always, s::paused,
       {x::count_group, x::admit_group}, "queued until resumed"},
      {s::paused, e::resume_requested, g::has_groups, s::generating,
       {x::take_view, x::answer_resumed}, "goes on where it was"},
      {s::paused, e::resume_requested, g::is_idle, s::ready,
       {x::answer_resumed}, "nothing is queued"},
      {s::paused, e::weights_changed, g::always, s::paused,
       {x::refresh_cache, x::acknowledge_weights},
       "rule 7: blocks carry the version that wrote them"},
      {s::paused, e::weights_torn, g::always, s::unpublished,
       {x::drop_groups}, "rule 6: serves nothing"},
      {s::paused, e::pause_requested, g::always, s::paused,
       {x::answer_paused}, "paused already"},
      {s::paused, e::drain_requested, g::always, s::draining,
       {x::drop_groups, x::answer_drained},
       "its view is back: finishing would need another"},
      {s::paused, e::stop_requested, g::always, s::stopped,
       {x::drop_groups, x::answer_stopped}, "nobody waits in vain"},
      // draining
      {s::draining, e::group_finished, g::is_more, s::draining,
       {x::uncount_group}, "others are under way"},
      {s::draining, e::group_finished, g::is_one, s::draining,
       {x::clear_groups, x::return_view, x::answer_drained},
       "that was the last"},
      {s::draining, e::group_finished, g::is_idle, s::draining,
       {x::answer_refused}, "none is under way"},
      {s::draining, e::weights_torn, g::has_groups, s::draining,
       {x::drop_groups, x::return_view, x::answer_drained},
       "rule 6: serves nothing"},
      {s::draining, e::weights_torn, g::is_idle, s::draining,
       {}, "nothing is under way"},
      {s::draining, e::weights_changed, g::is_idle, s::draining,
       {x::acknowledge_weights}, "it generates nothing with them"},
      {s::draining, e::weights_changed, g::has_groups, s::draining,
       {x::answer_refused}, "its view is still out"},
      {s::draining, e::stop_requested, g::has_groups, s::stopped,
       {x::drop_groups, x::return_view, x::answer_stopped},
       "nobody waits in vain"},
      {s::draining, e::stop_requested, g::is_idle, s::stopped,
       {x::answer_stopped}, "S9"},
    });
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    return std::to_array<refusal<rollout_machine>>({
      {s::unpublished, e::weights_torn, v::ignore, "it has none"},
      {s::unpublished, e::generate_requested, v::reject,
       "no whole weights yet"},
      {s::unpublished, e::group_finished, v::ignore, "it was dropped"},
      {s::unpublished, e::pause_requested, v::reject, "nothing to pause"},
      {s::unpublished, e::resume_requested, v::reject, "not paused"},
      {s::ready, e::group_finished, v::reject, "none is under way"},
      {s::ready, e::resume_requested, v::reject, "not paused"},
      {s::generating, e::weights_changed, v::reject,
       "its view is out: nobody may have written"},
      {s::generating, e::resume_requested, v::reject, "not paused"},
      {s::paused, e::group_finished, v::reject, "nothing runs"},
      {s::draining, e::generate_requested, v::reject, "admission is closed"},
      {s::draining, e::pause_requested, v::reject, "it drains"},
      {s::draining, e::resume_requested, v::ignore, "it runs already"},
      {s::draining, e::drain_requested, v::ignore, "it drains already"},
      {s::stopped, e::weights_changed, v::ignore, "it has ended"},
      {s::stopped, e::weights_torn, v::ignore, "it has ended"},
      {s::stopped, e::generate_requested, v::reject, "it has ended"},
      {s::stopped, e::group_finished, v::ignore, "it was dropped"},
      {s::stopped, e::pause_requested, v::reject, "it has ended"},
      {s::stopped, e::resume_requested, v::reject, "it has ended"},
      {s::stopped, e::drain_requested, v::reject, "it has ended"},
      {s::stopped, e::stop_requested, v::ignore, "it has ended"},
    });
  }
};

static_assert(step<rollout_machine>(rollout_machine::state::unpublished, {},
                                    rollout_machine::event::generate_requested)
                .what
              == verdict::reject); // rule 6

} // namespace troupe::protocols
