// SPDX-License-Identifier: Apache-2.0
//
// Role: samples completions. Drives the rollout engine by quanta on the compute
// queue and keeps what it made in the group store.
// Owner: rank supervisor.
// Peers: coordinator's loop (generate, consume, drain), parameter shard (views,
// versions), cache owner (leases), host agent (prompts over the transport).
// Machine: docs/state_machines/rollout.md; slots: slot.md.
// Blocking: never; a quantum checks the control word after each step.
// Failure: what a quantum throws ends its batch and is the batch's answer.
#pragma once

#include "actors/actor_base.hpp"
#include "actors/rank_context.hpp"

#include <caf/actor_system.hpp>

namespace troupe::actors {

protocols::rollout_actor
spawn_rollout(caf::actor_system& system, rank_context& rank,
              const protocols::parameter_shard_actor& shard,
              const protocols::cache_owner_actor& cache);

} // namespace troupe::actors
