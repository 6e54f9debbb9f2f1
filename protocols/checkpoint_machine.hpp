// SPDX-License-Identifier: Apache-2.0
//
// One checkpoint, owned by the checkpoint index; its subject is the step. Only
// a sealed one is ever offered for a resume, and sealing is the atomic rename
// of a folder whose files were all synced.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct checkpoint_machine {
  static constexpr std::string_view name = "checkpoint";

  enum class state : std::uint8_t {
    none,
    writing, ///< parts are written below a temporary name
    sealed,  ///< complete, synced, renamed
    failed,  ///< given up; what was written is removed
    count_
  };

  enum class event : std::uint8_t {
    save_requested,
    part_written, ///< one of the ranks, or the coordinator, has synced its part
    checkpoint_sealed, ///< manifest, rename, fsync of the parent are done
    write_failed,
    deadline_expired,
    process_lost, ///< of a writer
    count_
  };

  enum class guard : std::uint8_t {
    always,
    is_more, ///< than one part is missing
    is_one,
    is_missing, ///< at least one part is
    is_whole,   ///< none is
    count_
  };

  enum class effect : std::uint8_t {
    none,
    tell_writers,
    await_parts,
    count_part,
    seal, ///< manifest with checksums, then rename
    answer_saved,
    answer_refused,
    remove_torn,
    report_failure,
    count_
  };

  struct data {
    std::uint16_t num_parts = 0; ///< the owner's, before save_requested
    std::uint16_t num_parts_missing = 0;
  };

  static constexpr state initial = state::none;
  static constexpr bool is_terminal(state s) {
    return s == state::sealed || s == state::failed;
  }

  static constexpr auto fields() {
    return std::to_array<field<checkpoint_machine>>({
      {"num_parts", &data::num_parts, 2},
      {"num_parts_missing", &data::num_parts_missing, 2},
    });
  }

  static constexpr auto guards() {
    using g = guard;
    return std::to_array<guard_rule<checkpoint_machine>>({
      {g::always, [](const data&) { return true; }, "true"},
      {g::is_more, [](const data& d) { return d.num_parts_missing > 1; },
       "num_parts_missing > 1"},
      {g::is_one, [](const data& d) { return d.num_parts_missing == 1; },
       "num_parts_missing == 1"},
      {g::is_missing, [](const data& d) { return d.num_parts_missing > 0; },
       "num_parts_missing > 0"},
      {g::is_whole, [](const data& d) { return d.num_parts_missing == 0; },
       "num_parts_missing == 0"},
    });
  }

  static constexpr auto updates() {
    return std::to_array<update_rule<checkpoint_machine>>({
      {effect::await_parts, [](data& d) { d.num_parts_missing = d.num_parts; },
       "num_parts_missing = num_parts"},
      {effect::count_part, [](data& d) { --d.num_parts_missing; },
       "num_parts_missing = num_parts_missing - 1"},
    });
  }

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    return std::to_array<row<checkpoint_machine>>({
      {s::none, e::save_requested, g::always, s::writing,
       {x::await_parts, x::tell_writers}, "between two units"},
      {s::writing, e::part_written, g::is_more, s::writing,
       {x::count_part}, "others are missing"},
      {s::writing, e::part_written, g::is_one, s::writing,
       {x::count_part, x::seal}, "all parts are synced"},
      {s::writing, e::part_written, g::is_whole, s::writing,
       {x::answer_refused}, "written twice"},
      {s::writing, e::checkpoint_sealed, g::is_whole, s::sealed,
       {x::answer_saved}, "CK-1: sealed means that all parts are there"},
      {s::writing, e::checkpoint_sealed, g::is_missing, s::writing,
       {x::answer_refused}, "CK-1: parts are missing"},
      {s::writing, e::write_failed, g::always, s::failed,
       {x::remove_torn, x::report_failure}, "no space, or no permission"},
      {s::writing, e::deadline_expired, g::always, s::failed,
       {x::remove_torn, x::report_failure}, "a writer does not answer"},
      {s::writing, e::process_lost, g::always, s::failed,
       {x::remove_torn, x::report_failure}, "its part will not come"},
    });
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    return std::to_array<refusal<checkpoint_machine>>({
      {s::none, e::part_written, v::reject, "no save was requested"},
      {s::none, e::checkpoint_sealed, v::reject, "no save was requested"},
      {s::none, e::write_failed, v::reject, "no save was requested"},
      {s::none, e::deadline_expired, v::reject, "no save was requested"},
      {s::none, e::process_lost, v::ignore, "nothing is being written"},
      {s::writing, e::save_requested, v::reject, "it is being written"},
      {s::sealed, e::save_requested, v::reject, "it is there"},
      {s::sealed, e::part_written, v::reject, "it is complete"},
      {s::sealed, e::checkpoint_sealed, v::ignore, "once is enough"},
      {s::sealed, e::write_failed, v::ignore, "it is complete"},
      {s::sealed, e::deadline_expired, v::ignore, "it is complete"},
      {s::sealed, e::process_lost, v::ignore, "it is complete"},
      {s::failed, e::save_requested, v::reject, "it was given up"},
      {s::failed, e::part_written, v::ignore, "too late"},
      {s::failed, e::checkpoint_sealed, v::reject, "it was given up"},
      {s::failed, e::write_failed, v::ignore, "the first cause counts"},
      {s::failed, e::deadline_expired, v::ignore, "it was given up"},
      {s::failed, e::process_lost, v::ignore, "the first cause counts"},
    });
  }
};

static_assert(step<checkpoint_machine>(
                checkpoint_machine::state::writing, {.num_parts_missing = 1},
                checkpoint_machine::event::checkpoint_sealed)
                .taken->to
              == checkpoint_machine::state::writing); // CK-1

} // namespace troupe::protocols
