// SPDX-License-Identifier: Apache-2.0
//
// Role: owns the weights, gradients and optimizer state of a rank: who may read
// and who may write them, and which version they are.
// Owner: rank supervisor. Peers: rollout (views), trainer (updates),
// coordinator's checkpoint index (write, export).
// Machine: docs/state_machines/weights.md.
// Blocking: never; files are written on the file queue.
// Failure: an update that fails half-way leaves the weights torn.
#pragma once

#include "actors/actor_base.hpp"
#include "actors/rank_context.hpp"

#include <caf/actor_system.hpp>

namespace troupe::actors {

/// The rollout is made known later, by know_rollout.
protocols::parameter_shard_actor
spawn_parameter_shard(caf::actor_system& system, rank_context& rank);

} // namespace troupe::actors
