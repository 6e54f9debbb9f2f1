// SPDX-License-Identifier: Apache-2.0
//
// Role: makes optimizer steps out of groups and rows.
// Owner: rank supervisor. Peers: coordinator's loop (train), parameter shard
// (begin and end of an update), the group store of this process, and the host
// agent's rows over the transport.
// Blocking: never; a step is one unit on the compute queue.
// Failure: a step that throws leaves the weights as they were unless the
// optimizer had begun; then the rank fails.
#pragma once

#include "actors/actor_base.hpp"
#include "actors/rank_context.hpp"

#include <caf/actor_system.hpp>

namespace troupe::actors {

protocols::trainer_actor
spawn_trainer(caf::actor_system& system, rank_context& rank,
              const protocols::parameter_shard_actor& shard);

} // namespace troupe::actors
