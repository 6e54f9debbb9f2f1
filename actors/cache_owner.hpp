// SPDX-License-Identifier: Apache-2.0
//
// Role: owns the KV cache's memory: who may use, release and free it.
// Owner: rank supervisor; its death is a failed rank.
// Peers: rollout (leases), rank supervisor (grants, close).
// Machine: docs/state_machines/cache.md.
// Blocking: never; mapping is lazy.
// Failure: rollout lost: its lease is lost with the process.
#pragma once

#include "actors/actor_base.hpp"
#include "actors/rank_context.hpp"
#include "protocols/interfaces.hpp"

#include <caf/actor_system.hpp>

namespace troupe::actors {

protocols::cache_owner_actor
spawn_cache_owner(caf::actor_system& system, rank_context& rank,
                  const protocols::rank_supervisor_actor& supervisor);

} // namespace troupe::actors
