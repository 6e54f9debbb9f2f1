// SPDX-License-Identifier: Apache-2.0
//
// Role: turns completions into rewards: pulls the ids of a group from the
// process that made it, decodes them, and grades the texts here (built-in) or
// in workers (a user's function).
// Owner: coordinator. Peers: the loop, workers below their keepers.
// Blocking: never; texts arrive on the transport's thread, grades on the
// pool's.
// Failure: a worker's loss costs its samples, which are counted and named;
// reward.on_error decides what they become.
#pragma once

#include "actors/control_context.hpp"
#include "protocols/interfaces.hpp"

#include <caf/actor_system.hpp>

namespace troupe::actors {

/// Returns how long the rewards of so many groups may take: the table's row,
/// or, for a function of the user's, what its workers may take with
/// reward.timeout_s each if that is more.
std::chrono::milliseconds
grade_patience(const runtime::config::reward_block& reward,
               std::size_t num_groups, double deadline_scale);

protocols::reward_pool_actor spawn_reward_pool(caf::actor_system& system,
                                               control_context& control);

} // namespace troupe::actors
