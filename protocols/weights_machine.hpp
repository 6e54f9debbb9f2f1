// SPDX-License-Identifier: Apache-2.0
//
// Who may read and write the weights of a parameter shard. Trainer and rollout
// of a rank share the storage, so the optimizer step waits for the rollout's
// view, and no view is given while weights are half written. Rows of the
// publication are here from the start; nothing sends their events while there
// is one placement.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct weights_machine {
  static constexpr std::string_view name = "weights";

  enum class state : std::uint8_t {
    inference,  ///< one whole version; may be read
    training,   ///< an optimizer step writes in place
    publishing, ///< a version of another shard arrives, or ours is sent
    torn,       ///< half written: serves nothing until loaded anew
    count_
  };

  enum class event : std::uint8_t {
    view_requested, ///< rollout wants to generate
    view_returned,
    update_requested, ///< trainer: begin_update
    update_finished,  ///< trainer: end_update, values changed
    update_skipped,   ///< non-finite gradients: nothing was written
    update_failed,    ///< an error in the midst of the step
    publish_announced,
    commit_began, ///< staged chunks are copied in place from here on
    publish_committed,
    publish_aborted, ///< refused, cancelled by epoch, or the peer is lost
    version_loaded,  ///< from a model or a checkpoint, whole
    count_
  };

  enum class guard : std::uint8_t {
    always,
    unread, ///< no view is out
    is_read,
    intact, ///< nothing was written by this publication
    written,
    may_commit, ///< intact, and no view is out
    may_not_commit,
    count_
  };

  enum class effect : std::uint8_t {
    none,
    count_view,
    uncount_view,
    answer_view, ///< with version and layout generation
    answer_returned,
    answer_may_update,
    answer_refused, ///< names who holds a view
    raise_version,  ///< one more optimizer step is in the weights
    answer_updated,
    tell_rollouts, ///< weights_changed, or weights_torn
    mark_written,
    clear_written,
    answer_accepted,
    answer_committed,
    answer_aborted,
    report_torn,
    count_
  };

  struct data {
    std::uint16_t num_views = 0;
    bool is_written = false; ///< a commit has begun to copy
  };

  static constexpr state initial = state::inference;
  static constexpr bool is_terminal(state) { return false; }

  static constexpr auto fields() {
    return std::to_array<field<weights_machine>>({
      {"num_views", &data::num_views, 2},
      {"is_written", &data::is_written},
    });
  }

  static constexpr auto guards() {
    using g = guard;
    return std::to_array<guard_rule<weights_machine>>({
      {g::always, [](const data&) { return true; }, "true"},
      {g::unread, [](const data& d) { return d.num_views == 0; },
       "num_views == 0"},
      {g::is_read, [](const data& d) { return d.num_views > 0; },
       "num_views > 0"},
      {g::intact, [](const data& d) { return !d.is_written; }, "!is_written"},
      {g::written, [](const data& d) { return d.is_written; }, "is_written"},
      {g::may_commit,
       [](const data& d) { return !d.is_written && d.num_views == 0; },
       "!is_written && num_views == 0"},
      {g::may_not_commit,
       [](const data& d) { return d.is_written || d.num_views > 0; },
       "is_written || num_views > 0"},
    });
  }

  static constexpr auto updates() {
    return std::to_array<update_rule<weights_machine>>({
      {effect::count_view, [](data& d) { ++d.num_views; },
       "num_views = num_views + 1"},
      {effect::uncount_view, [](data& d) { --d.num_views; },
       "num_views = num_views - 1"},
      {effect::mark_written, [](data& d) { d.is_written = true; },
       "is_written = true"},
      {effect::clear_written, [](data& d) { d.is_written = false; },
       "is_written = false"},
    });
  }

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    return std::to_array<row<weights_machine>>({
      // inference
      {s::inference, e::view_requested, g::always, s::inference,
       {x::count_view, x::answer_view}, "whole weights may be read"},
      {s::inference, e::view_returned, g::is_read, s::inference,
       {x::uncount_view, x::answer_returned}, "also on abort"},
      {s::inference, e::view_returned, g::unread, s::inference,
       {x::answer_refused}, "returned twice"},
      {s::inference, e::update_requested, g::unread, s::training,
       {x::answer_may_update}, "nobody reads"},
      {s::inference, e::update_requested, g::is_read, s::inference,
       {x::answer_refused}, "a rollout still generates: pause it first"},
      {s::inference, e::version_loaded, g::unread, s::inference,
       {x::tell_rollouts}, "start, or resume from a checkpoint"},
      {s::inference, e::version_loaded, g::is_read, s::inference,
       {x::answer_refused}, "a rollout still generates: pause it first"},
      {s::inference, e::publish_announced, g::always, s::publishing,
       {x::clear_written, x::answer_accepted},
       "staging does not touch the weights, so views may stay"},
      // training
      {s::training, e::update_finished, g::always, s::inference,
       {x::raise_version, x::answer_updated, x::tell_rollouts},
       "values changed in place, addresses did not"},
      {s::training, e::update_skipped, g::always, s::inference,
       {x::answer_updated}, "nothing was written: the version stays"},
      {s::training, e::update_failed, g::always, s::torn,
       {x::report_torn, x::tell_rollouts},
       "some parameters are stepped and some are not"},
      // publishing
      {s::publishing, e::view_requested, g::intact, s::publishing,
       {x::count_view, x::answer_view}, "the old version is whole"},
      {s::publishing, e::view_requested, g::written, s::publishing,
       {x::answer_refused}, "rule 6: half written weights serve nothing"},
      {s::publishing, e::view_returned, g::is_read, s::publishing,
       {x::uncount_view, x::answer_returned}, "also on abort"},
      {s::publishing, e::view_returned, g::unread, s::publishing,
       {x::answer_refused}, "returned twice"},
      {s::publishing, e::commit_began, g::may_commit, s::publishing,
       {x::mark_written}, "from here on it is all or torn"},
      {s::publishing, e::commit_began, g::may_not_commit, s::publishing,
       {x::answer_refused}, "a view is out, or it has begun"},
      {s::publishing, e::publish_committed, g::written, s::inference,
       {x::clear_written, x::answer_committed, x::tell_rollouts},
       "the new version is whole"},
      {s::publishing, e::publish_committed, g::intact, s::inference,
       {x::answer_committed}, "the sender: nothing was written here"},
      {s::publishing, e::publish_aborted, g::intact, s::inference,
       {x::answer_aborted}, "the old version is whole"},
      {s::publishing, e::publish_aborted, g::written, s::torn,
       {x::clear_written, x::report_torn, x::tell_rollouts},
       "the copy broke off half-way"},
      // torn
      {s::torn, e::version_loaded, g::always, s::inference,
       {x::tell_rollouts}, "a whole version was pulled"},
    });
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    return std::to_array<refusal<weights_machine>>({
      {s::inference, e::update_finished, v::reject, "no update began"},
      {s::inference, e::update_skipped, v::reject, "no update began"},
      {s::inference, e::update_failed, v::reject, "no update began"},
      {s::inference, e::commit_began, v::reject, "nothing was announced"},
      {s::inference, e::publish_committed, v::reject, "nothing was announced"},
      {s::inference, e::publish_aborted, v::ignore, "nothing is under way"},
      {s::training, e::view_requested, v::reject, "an update is under way"},
      {s::training, e::view_returned, v::reject, "no view is out"},
      {s::training, e::update_requested, v::reject, "an update is under way"},
      {s::training, e::publish_announced, v::reject, "finish the update"},
      {s::training, e::commit_began, v::reject, "nothing was announced"},
      {s::training, e::publish_committed, v::reject, "nothing was announced"},
      {s::training, e::publish_aborted, v::ignore, "nothing is under way"},
      {s::training, e::version_loaded, v::reject, "finish the update"},
      {s::publishing, e::update_requested, v::reject, "a publication runs"},
      {s::publishing, e::update_finished, v::reject, "no update began"},
      {s::publishing, e::update_skipped, v::reject, "no update began"},
      {s::publishing, e::update_failed, v::reject, "no update began"},
      {s::publishing, e::publish_announced, v::reject, "one at a time"},
      {s::publishing, e::version_loaded, v::reject, "a publication runs"},
      {s::torn, e::view_requested, v::reject, "load a whole version first"},
      {s::torn, e::view_returned, v::reject, "no view is out"},
      {s::torn, e::update_requested, v::reject, "load a whole version first"},
      {s::torn, e::update_finished, v::reject, "no update began"},
      {s::torn, e::update_skipped, v::reject, "no update began"},
      {s::torn, e::update_failed, v::ignore, "it is torn"},
      {s::torn, e::publish_announced, v::reject, "load a whole version first"},
      {s::torn, e::commit_began, v::reject, "nothing was announced"},
      {s::torn, e::publish_committed, v::reject, "nothing was announced"},
      {s::torn, e::publish_aborted, v::ignore, "it is torn"},
    });
  }
};

static_assert(step<weights_machine>(weights_machine::state::inference,
                                    {.num_views = 1},
                                    weights_machine::event::update_requested)
                .taken->to
              == weights_machine::state::inference);
static_assert(step<weights_machine>(weights_machine::state::torn, {},
                                    weights_machine::event::view_requested)
                .what
              == verdict::reject); // rule 6

} // namespace troupe::protocols
