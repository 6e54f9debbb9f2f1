// SPDX-License-Identifier: Apache-2.0
//
// Role: knows the state of every group that lives: ids, versions and states,
// no columns. Bounded: a group beyond the limit is refused.
// Owner: coordinator. Peers: the loop. Machine: docs/state_machines/group.md.
// Blocking: never. Failure: none of its own.
#pragma once

#include "actors/process_context.hpp"
#include "protocols/interfaces.hpp"

#include <caf/actor_system.hpp>

namespace troupe::actors {

/// `max_policy_age`: versions that may come between a group's samples and the
/// step that trains on it.
protocols::experience_index_actor
spawn_experience_index(caf::actor_system& system, process_context& process,
                       std::uint16_t max_policy_age);

} // namespace troupe::actors
