// SPDX-License-Identifier: Apache-2.0
//
// The cache owner's machine: who may use, park and free the KV cache (DESIGN
// sections 4 and 5). It is about memory only; which block holds which token is
// the scheduler's business. Every request is answered, also when nothing is to
// be done.
#pragma once

#include "protocols/machine.hpp"

namespace troupe::protocols {

struct cache_machine {
  static constexpr std::string_view name = "cache";

  enum class state : std::uint8_t {
    unallocated, ///< nothing was ever taken
    held,        ///< memory is mapped and may be read and written
    parked,      ///< addresses are kept, pages are given back
    released,    ///< addresses and pages are given back
    closed,      ///< the owner has ended
    count_
  };

  enum class event : std::uint8_t {
    lease_requested,   ///< rollout wants to generate in so many bytes
    lease_returned,    ///< it has finished, or was aborted
    park_requested,    ///< training wants the pages, graphs may stay
    release_requested, ///< training wants all
    retake_requested,  ///< rollout wants it back as it was
    close_requested,   ///< ordered shutdown, after the graphs
    count_
  };

  enum class guard : std::uint8_t {
    always,
    granted,      ///< the ledger has the bytes
    refused,      ///< it has not
    fits,         ///< the lease is not larger than what is held
    may_grow,     ///< it is larger, and nothing stands in the way
    may_not_grow, ///< it is larger, and something does
    lease_is_out,
    no_lease,
    may_park, ///< no lease is out, and this memory can keep addresses
    may_not_park,
    may_free, ///< no lease is out, and no captured graph points into it
    may_not_free,
    count_
  };

  enum class effect : std::uint8_t {
    none,
    map_pages,
    unmap_pages,
    grow, ///< free, then map: the two never coexist
    free_all,
    count_lease,
    uncount_lease,
    return_grant,
    answer_leased,
    answer_returned,
    answer_parked,
    answer_released,
    answer_retaken,
    answer_closed,
    answer_refused, ///< names the holder and the bytes
    count_
  };

  /// The owner sets all but num_leases before it applies an event.
  struct data {
    std::uint16_t num_live_graphs = 0; ///< graphs that point into the cache
    std::uint16_t num_leases = 0;
    bool is_larger = false;          ///< this lease asks for more than is held
    bool is_granted = false;         ///< the ledger's answer to this request
    bool can_keep_addresses = false; ///< capability of the device's memory
  };

  static constexpr state initial = state::unallocated;
  static constexpr bool is_terminal(state s) { return s == state::closed; }

  static constexpr auto fields() {
    return std::to_array<field<cache_machine>>({
      {"num_live_graphs", &data::num_live_graphs, 2},
      {"num_leases", &data::num_leases, 2},
      {"is_larger", &data::is_larger},
      {"is_granted", &data::is_granted},
      {"can_keep_addresses", &data::can_keep_addresses},
    });
  }

  static constexpr bool is_free(const data& d) {
    return d.num_leases == 0 && d.num_live_graphs == 0;
  }

  static constexpr auto guards() {
    using g = guard;
    return std::to_array<guard_rule<cache_machine>>({
      {g::always, [](const data&) { return true; }, "true"},
      {g::granted, [](const data& d) { return d.is_granted; }, "is_granted"},
      {g::refused, [](const data& d) { return !d.is_granted; }, "!is_granted"},
      {g::fits, [](const data& d) { return !d.is_larger; }, "!is_larger"},
      {g::may_grow,
       [](const data& d) { return d.is_larger && d.is_granted && is_free(d); },
       "is_larger && is_granted && num_leases == 0 && num_live_graphs == 0"},
      {g::may_not_grow,
       [](const data& d) {
         return d.is_larger && !(d.is_granted && is_free(d));
       },
       "is_larger && (!is_granted || num_leases > 0 || num_live_graphs > 0)"},
      {g::lease_is_out, [](const data& d) { return d.num_leases > 0; },
       "num_leases > 0"},
      {g::no_lease, [](const data& d) { return d.num_leases == 0; },
       "num_leases == 0"},
      {g::may_park,
       [](const data& d) { return d.num_leases == 0 && d.can_keep_addresses; },
       "num_leases == 0 && can_keep_addresses"},
      {g::may_not_park,
       [](const data& d) { return d.num_leases > 0 || !d.can_keep_addresses; },
       "num_leases > 0 || !can_keep_addresses"},
      {g::may_free, [](const data& d) { return is_free(d); },
       "num_leases == 0 && num_live_graphs == 0"},
      {g::may_not_free, [](const data& d) { return !is_free(d); },
       "num_leases > 0 || num_live_graphs > 0"},
    });
  }

  static constexpr auto updates() {
    return std::to_array<update_rule<cache_machine>>({
      {effect::count_lease, [](data& d) { ++d.num_leases; },
       "num_leases = num_leases + 1"},
      {effect::uncount_lease, [](data& d) { --d.num_leases; },
       "num_leases = num_leases - 1"},
    });
  }

  // clang-format off
  static constexpr auto rows() {
    using s = state;
    using e = event;
    using g = guard;
    using x = effect;
    return std::to_array<row<cache_machine>>({
      // unallocated
      {s::unallocated, e::lease_requested, g::granted, s::held,
       {x::map_pages, x::count_lease, x::answer_leased}, "first use"},
      {s::unallocated, e::lease_requested, g::refused, s::unallocated,
       {x::answer_refused}, "nothing changes when the ledger says no"},
      {s::unallocated, e::park_requested, g::always, s::unallocated,
       {x::answer_parked}, "there is nothing to give back"},
      {s::unallocated, e::release_requested, g::always, s::unallocated,
       {x::answer_released}, "there is nothing to give back"},
      {s::unallocated, e::retake_requested, g::always, s::unallocated,
       {x::answer_retaken}, "R2: succeeds and does nothing"},
      {s::unallocated, e::close_requested, g::always, s::closed,
       {x::answer_closed}, "S4"},
      // held
      {s::held, e::lease_requested, g::fits, s::held,
       {x::count_lease, x::answer_leased}, "already there"},
      {s::held, e::lease_requested, g::may_grow, s::held,
       {x::grow, x::count_lease, x::answer_leased}, "R7: grown while idle"},
      {s::held, e::lease_requested, g::may_not_grow, s::held,
       {x::answer_refused}, "R7: never silently too small"},
      {s::held, e::lease_returned, g::lease_is_out, s::held,
       {x::uncount_lease, x::answer_returned}, "also on abort"},
      {s::held, e::lease_returned, g::no_lease, s::held,
       {x::answer_refused}, "returned twice"},
      {s::held, e::park_requested, g::may_park, s::parked,
       {x::unmap_pages, x::return_grant, x::answer_parked},
       "graphs stay valid: their addresses do"},
      {s::held, e::park_requested, g::may_not_park, s::held,
       {x::answer_refused}, "a lease is out, or this memory cannot park"},
      {s::held, e::release_requested, g::may_free, s::released,
       {x::free_all, x::return_grant, x::answer_released},
       "nothing points into it"},
      {s::held, e::release_requested, g::may_not_free, s::held,
       {x::answer_refused}, "leases back and graphs dropped first"},
      {s::held, e::retake_requested, g::always, s::held,
       {x::answer_retaken}, "R2: already held"},
      {s::held, e::close_requested, g::may_free, s::closed,
       {x::free_all, x::return_grant, x::answer_closed},
       "S4: graphs first, then the cache"},
      {s::held, e::close_requested, g::may_not_free, s::held,
       {x::answer_refused}, "S4: leases back and graphs dropped first"},
      // parked: no lease can be out
      {s::parked, e::park_requested, g::always, s::parked,
       {x::answer_parked}, "already parked"},
      {s::parked, e::release_requested, g::may_free, s::released,
       {x::free_all, x::answer_released}, "give the addresses back, too"},
      {s::parked, e::release_requested, g::may_not_free, s::parked,
       {x::answer_refused}, "graphs dropped first"},
      {s::parked, e::retake_requested, g::granted, s::held,
       {x::map_pages, x::answer_retaken}, "same addresses, no recapture"},
      {s::parked, e::retake_requested, g::refused, s::parked,
       {x::answer_refused}, "all or nothing"},
      {s::parked, e::close_requested, g::may_free, s::closed,
       {x::free_all, x::answer_closed}, "S4"},
      {s::parked, e::close_requested, g::may_not_free, s::parked,
       {x::answer_refused}, "S4: graphs dropped first"},
      // released
      {s::released, e::park_requested, g::always, s::released,
       {x::answer_parked}, "the pages are given back already"},
      {s::released, e::release_requested, g::always, s::released,
       {x::answer_released}, "already released"},
      {s::released, e::retake_requested, g::granted, s::held,
       {x::map_pages, x::answer_retaken}, "new addresses: new signature"},
      {s::released, e::retake_requested, g::refused, s::released,
       {x::answer_refused}, "all or nothing"},
      {s::released, e::close_requested, g::always, s::closed,
       {x::answer_closed}, "S4"},
      // closed
      {s::closed, e::close_requested, g::always, s::closed,
       {x::answer_closed}, "shutdown is idempotent"},
    });
  }
  // clang-format on

  static constexpr auto refusals() {
    using s = state;
    using e = event;
    using v = verdict;
    return std::to_array<refusal<cache_machine>>({
      {s::unallocated, e::lease_returned, v::reject, "no lease is out"},
      {s::parked, e::lease_requested, v::reject, "retake first"},
      {s::parked, e::lease_returned, v::reject, "no lease is out"},
      {s::released, e::lease_requested, v::reject, "retake first"},
      {s::released, e::lease_returned, v::reject, "no lease is out"},
      {s::closed, e::lease_requested, v::reject, "closed"},
      {s::closed, e::lease_returned, v::reject, "closed"},
      {s::closed, e::park_requested, v::reject, "closed"},
      {s::closed, e::release_requested, v::reject, "closed"},
      {s::closed, e::retake_requested, v::reject, "closed"},
    });
  }
};

static_assert(step<cache_machine>(cache_machine::state::held,
                                  {.num_live_graphs = 1},
                                  cache_machine::event::release_requested)
                .taken->to
              == cache_machine::state::held);

} // namespace troupe::protocols
