// SPDX-License-Identifier: Apache-2.0
//
// Role: a rank's root: joins the job, loads the model, spawns and ends the
// rank's actors, keeps the ledger of its memory.
// Owner: the rank's main; its end is the process's.
// Peers: coordinator (place, the shutdown phases), cache owner (grants).
// Machine: docs/state_machines/rank.md.
// Blocking: never; loading is one closure on the compute queue.
// Failure: the coordinator's loss ends the rank; a child's failure is reported
// and ends it, too.
#pragma once

#include "actors/actor_base.hpp"
#include "actors/rank_context.hpp"

#include <caf/actor_system.hpp>

#include <functional>

namespace troupe::actors {

/// `on_end` is called once, in the actor, with the reason.
protocols::rank_supervisor_actor
spawn_rank_supervisor(caf::actor_system& system, rank_context& rank,
                      const protocols::coordinator_actor& coordinator,
                      std::function<void(const std::string&)> on_end);

} // namespace troupe::actors
