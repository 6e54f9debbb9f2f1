// SPDX-License-Identifier: Apache-2.0
//
// One row of the decode batch, owned by the rollout scheduler. A slot is
// reused only after its row was cleared. It has no terminal state: it returns
// to free.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct slot_machine {
  static constexpr std::string_view name = "slot";

  enum class state : std::uint8_t {
    free,
    prefilling, ///< prompt tokens are being written to the cache
    decoding,   ///< one token a step
    retired,    ///< its sample is complete, its row is not cleared
    count_
  };

  enum class event : std::uint8_t {
    sample_admitted,
    chunk_prefilled, ///< some prompt tokens, not the last
    token_sampled,   ///< the first one ends the prefill
    cache_dropped,   ///< its blocks are stale or taken: recompute
    sample_aborted,
    row_cleared,
    count_
  };

  enum class guard : std::uint8_t {
    always,
    goes_on,
    is_final, ///< a stop id, or the budget is used up
    count_
  };

  enum class effect : std::uint8_t {
    none,
    reserve_blocks,
    store_token,   ///< with its logprobs and policy version
    finish_sample, ///< completed, truncated or aborted
    free_blocks,
    count_
  };

  /// The scheduler sets it before it applies token_sampled.
  struct data {
    bool is_final_token = false;
  };

  static constexpr state initial = state::free;
  static constexpr bool is_terminal(state) { return false; }

  static constexpr auto fields() {
    return std::to_array<field<slot_machine>>(
      {{"is_final_token", &data::is_final_token}});
  }

  static constexpr auto guards() {
    using g = guard;
    return std::to_array<guard_rule<slot_machine>>({
      {g::always, [](const data&) { return true; }, "true"},
      {g::goes_on, [](const data& d) { return !d.is_final_token; },
       "!is_final_token"},
      {g::is_final, [](const data& d) { return d.is_final_token; },
       "is_final_token"},
    });
  }

  static constexpr auto updates() {
    return std::array<update_rule<slot_machine>, 0>{};
  }

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    return std::to_array<row<slot_machine>>({
      {s::free, e::sample_admitted, g::always, s::prefilling,
       {x::reserve_blocks}, "first in, first out"},
      {s::prefilling, e::chunk_prefilled, g::always, s::prefilling,
       {}, "chunks share a step with decoding rows"},
      {s::prefilling, e::token_sampled, g::goes_on, s::decoding,
       {x::store_token}, "the last prompt token gives the first logits"},
      {s::prefilling, e::token_sampled, g::is_final, s::retired,
       {x::store_token, x::finish_sample}, "a budget of one, or a stop id"},
      {s::prefilling, e::cache_dropped, g::always, s::prefilling,
       {}, "from the first prompt token again"},
      {s::prefilling, e::sample_aborted, g::always, s::retired,
       {x::finish_sample}, "by the caller, or a drain"},
      {s::decoding, e::token_sampled, g::goes_on, s::decoding,
       {x::store_token}, "one more"},
      {s::decoding, e::token_sampled, g::is_final, s::retired,
       {x::store_token, x::finish_sample}, "a stop id, or the budget"},
      {s::decoding, e::cache_dropped, g::always, s::prefilling,
       {}, "prompt and completion so far are prefilled again"},
      {s::decoding, e::sample_aborted, g::always, s::retired,
       {x::finish_sample}, "by the caller, or a drain"},
      {s::retired, e::row_cleared, g::always, s::free,
       {x::free_blocks}, "no reuse before the row is cleared"},
    });
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    return std::to_array<refusal<slot_machine>>({
      {s::free, e::chunk_prefilled, v::reject, "nothing was admitted"},
      {s::free, e::token_sampled, v::reject, "nothing was admitted"},
      {s::free, e::cache_dropped, v::ignore, "it holds no blocks"},
      {s::free, e::sample_aborted, v::ignore, "it holds no sample"},
      {s::free, e::row_cleared, v::reject, "it is clear"},
      {s::prefilling, e::sample_admitted, v::reject, "it is taken"},
      {s::prefilling, e::row_cleared, v::reject, "its sample goes on"},
      {s::decoding, e::sample_admitted, v::reject, "it is taken"},
      {s::decoding, e::chunk_prefilled, v::reject, "its prompt is complete"},
      {s::decoding, e::row_cleared, v::reject, "its sample goes on"},
      {s::retired, e::sample_admitted, v::reject, "clear the row first"},
      {s::retired, e::chunk_prefilled, v::reject, "its sample is complete"},
      {s::retired, e::token_sampled, v::reject, "its sample is complete"},
      {s::retired, e::cache_dropped, v::ignore, "nothing is read any more"},
      {s::retired, e::sample_aborted, v::ignore, "its sample is complete"},
    });
  }
};

static_assert(step<slot_machine>(slot_machine::state::retired, {},
                                 slot_machine::event::sample_admitted)
                .what
              == verdict::reject);

} // namespace troupe::protocols
