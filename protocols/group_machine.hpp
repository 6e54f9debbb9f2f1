// SPDX-License-Identifier: Apache-2.0
//
// A group of experience: the n samples of one prompt, from the prompt source to
// the trainer, owned by the experience index. Its columns stay in the group
// store that made them. A retry is another group: the attempt is part of the
// group id.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct group_machine {
  static constexpr std::string_view name = "group";

  enum class state : std::uint8_t {
    queued,     ///< the prompt is known, no rollout has it
    generating, ///< a rollout has it
    generated,  ///< its samples are complete
    rewarding,  ///< the reward pool has it
    rewarded,   ///< may be trained on
    leased,     ///< a trainer has it
    consumed,   ///< its optimizer step is done
    dropped,    ///< never trained on; the event is the reason
    count_
  };

  enum class event : std::uint8_t {
    group_dispatched,
    group_generated,
    generation_failed,
    grading_began,
    group_graded,
    grading_failed, ///< fewer samples have a reward than the policy asks for
    lease_requested,
    lease_returned, ///< the step was not done
    step_finished,
    drop_requested, ///< the job ends, or the rank that holds it is lost
    count_
  };

  enum class guard : std::uint8_t {
    always,
    fresh, ///< young enough to be trained on
    stale,
    count_
  };

  enum class effect : std::uint8_t {
    none,
    answer_leased,
    answer_refused,
    free_columns, ///< of the store that made them
    count_
  };

  /// The index sets both: the age when a trainer asks, the most at the start.
  struct data {
    std::uint16_t policy_age_steps = 0;
    std::uint16_t max_policy_age = 0;
  };

  static constexpr state initial = state::queued;
  static constexpr bool is_terminal(state s) {
    return s == state::consumed || s == state::dropped;
  }

  static constexpr auto fields() {
    return std::to_array<field<group_machine>>({
      {"policy_age_steps", &data::policy_age_steps, 2},
      {"max_policy_age", &data::max_policy_age, 2},
    });
  }

  static constexpr auto guards() {
    using g = guard;
    return std::to_array<guard_rule<group_machine>>({
      {g::always, [](const data&) { return true; }, "true"},
      {g::fresh,
       [](const data& d) { return d.policy_age_steps <= d.max_policy_age; },
       "policy_age_steps <= max_policy_age"},
      {g::stale,
       [](const data& d) { return d.policy_age_steps > d.max_policy_age; },
       "policy_age_steps > max_policy_age"},
    });
  }

  static constexpr auto updates() {
    return std::array<update_rule<group_machine>, 0>{};
  }

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    return std::to_array<row<group_machine>>({
      {s::queued, e::group_dispatched, g::always, s::generating,
       {}, "in the order of the prompts"},
      {s::queued, e::drop_requested, g::always, s::dropped,
       {}, "no rollout has it"},
      {s::generating, e::group_generated, g::always, s::generated,
       {}, "lengths and versions are known"},
      {s::generating, e::generation_failed, g::always, s::dropped,
       {x::free_columns},
       "half a group is no group"},
      {s::generating, e::drop_requested, g::always, s::dropped,
       {x::free_columns}, "the rollout drains, or the job ends"},
      {s::generated, e::grading_began, g::always, s::rewarding,
       {}, "the reward pool has room"},
      {s::generated, e::drop_requested, g::always, s::dropped,
       {x::free_columns}, "nobody has it"},
      {s::rewarding, e::group_graded, g::always, s::rewarded,
       {}, "enough samples have a reward"},
      {s::rewarding, e::grading_failed, g::always, s::dropped,
       {x::free_columns},
       "a worker died, was late, or gave no number"},
      {s::rewarding, e::drop_requested, g::always, s::dropped,
       {x::free_columns}, "late rewards are ignored"},
      {s::rewarded, e::lease_requested, g::fresh, s::leased,
       {x::answer_leased}, "within max_policy_age"},
      {s::rewarded, e::lease_requested, g::stale, s::dropped,
       {x::answer_refused, x::free_columns},
       "older than max_policy_age allows"},
      {s::rewarded, e::drop_requested, g::always, s::dropped,
       {x::free_columns}, "nobody has it"},
      {s::leased, e::step_finished, g::always, s::consumed,
       {x::free_columns}, "exactly once"},
      {s::leased, e::lease_returned, g::always, s::rewarded,
       {}, "the step was not done, or a later epoch has it again"},
      {s::leased, e::drop_requested, g::always, s::dropped,
       {x::free_columns}, "its trainer is lost"},
    });
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    return std::to_array<refusal<group_machine>>({
      {s::queued, e::group_generated, v::reject, "not dispatched"},
      {s::queued, e::generation_failed, v::reject, "not dispatched"},
      {s::queued, e::grading_began, v::reject, "not generated"},
      {s::queued, e::group_graded, v::reject, "not generated"},
      {s::queued, e::grading_failed, v::reject, "not generated"},
      {s::queued, e::lease_requested, v::reject, "not generated"},
      {s::queued, e::lease_returned, v::reject, "not leased"},
      {s::queued, e::step_finished, v::reject, "not leased"},
      {s::generating, e::group_dispatched, v::reject, "a rollout has it"},
      {s::generating, e::grading_began, v::reject, "not generated"},
      {s::generating, e::group_graded, v::reject, "not generated"},
      {s::generating, e::grading_failed, v::reject, "not generated"},
      {s::generating, e::lease_requested, v::reject, "not generated"},
      {s::generating, e::lease_returned, v::reject, "not leased"},
      {s::generating, e::step_finished, v::reject, "not leased"},
      {s::generated, e::group_dispatched, v::reject, "it is generated"},
      {s::generated, e::group_generated, v::reject, "once is enough"},
      {s::generated, e::generation_failed, v::reject, "it is generated"},
      {s::generated, e::group_graded, v::reject, "grading did not begin"},
      {s::generated, e::grading_failed, v::reject, "grading did not begin"},
      {s::generated, e::lease_requested, v::reject, "not rewarded"},
      {s::generated, e::lease_returned, v::reject, "not leased"},
      {s::generated, e::step_finished, v::reject, "not leased"},
      {s::rewarding, e::group_dispatched, v::reject, "it is generated"},
      {s::rewarding, e::group_generated, v::reject, "once is enough"},
      {s::rewarding, e::generation_failed, v::reject, "it is generated"},
      {s::rewarding, e::grading_began, v::reject, "the pool has it"},
      {s::rewarding, e::lease_requested, v::reject, "not rewarded"},
      {s::rewarding, e::lease_returned, v::reject, "not leased"},
      {s::rewarding, e::step_finished, v::reject, "not leased"},
      {s::rewarded, e::group_dispatched, v::reject, "it is generated"},
      {s::rewarded, e::group_generated, v::reject, "once is enough"},
      {s::rewarded, e::generation_failed, v::reject, "it is generated"},
      {s::rewarded, e::grading_began, v::reject, "it is rewarded"},
      {s::rewarded, e::group_graded, v::reject, "once is enough"},
      {s::rewarded, e::grading_failed, v::reject, "it is rewarded"},
      {s::rewarded, e::lease_returned, v::reject, "not leased"},
      {s::rewarded, e::step_finished, v::reject, "not leased"},
      {s::leased, e::group_dispatched, v::reject, "it is generated"},
      {s::leased, e::group_generated, v::reject, "once is enough"},
      {s::leased, e::generation_failed, v::reject, "it is generated"},
      {s::leased, e::grading_began, v::reject, "it is rewarded"},
      {s::leased, e::group_graded, v::reject, "once is enough"},
      {s::leased, e::grading_failed, v::reject, "it is rewarded"},
      {s::leased, e::lease_requested, v::reject, "a trainer has it"},
      {s::consumed, e::group_dispatched, v::reject, "it was consumed"},
      {s::consumed, e::group_generated, v::reject, "it was consumed"},
      {s::consumed, e::generation_failed, v::reject, "it was consumed"},
      {s::consumed, e::grading_began, v::reject, "it was consumed"},
      {s::consumed, e::group_graded, v::reject, "it was consumed"},
      {s::consumed, e::grading_failed, v::reject, "it was consumed"},
      {s::consumed, e::lease_requested, v::reject, "it was consumed"},
      {s::consumed, e::lease_returned, v::reject, "it was consumed"},
      {s::consumed, e::step_finished, v::reject, "trained on once only"},
      {s::consumed, e::drop_requested, v::ignore, "it was consumed"},
      {s::dropped, e::group_dispatched, v::reject, "it was dropped"},
      {s::dropped, e::group_generated, v::ignore, "too late"},
      {s::dropped, e::generation_failed, v::ignore, "too late"},
      {s::dropped, e::grading_began, v::reject, "it was dropped"},
      {s::dropped, e::group_graded, v::ignore, "too late"},
      {s::dropped, e::grading_failed, v::ignore, "too late"},
      {s::dropped, e::lease_requested, v::reject, "it was dropped"},
      {s::dropped, e::lease_returned, v::ignore, "too late"},
      {s::dropped, e::step_finished, v::reject, "it was dropped"},
      {s::dropped, e::drop_requested, v::ignore, "the first reason counts"},
    });
  }
};

} // namespace troupe::protocols
