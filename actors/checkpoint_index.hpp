// SPDX-License-Identifier: Apache-2.0
//
// Role: writes, seals and prunes checkpoints.
// Owner: coordinator. Peers: the loop, the ranks' parameter shards.
// Machine: docs/state_machines/checkpoint.md, one a step.
// Blocking: never; disk work is done on the file queue.
// Failure: a part that fails or is late leaves the last sealed one untouched.
#pragma once

#include "actors/control_context.hpp"
#include "protocols/interfaces.hpp"

#include <caf/actor_system.hpp>

#include <optional>

namespace troupe::actors {

/// Name of the coordinator's file in a checkpoint.
inline constexpr const char* loop_state_file = "loop.json";

/// What a run continues from.
struct resume_point {
  std::string folder;
  std::int64_t step = 0;
  std::string loop_state;
};

/// Returns the newest sealed checkpoint of the run, verified.
/// Errors: checkpoint_absent, checkpoint_corrupt, checkpoint_mismatch.
resume_point find_resume_point(const control_context& control);

/// `shard`: of rank 0.
protocols::checkpoint_index_actor
spawn_checkpoint_index(caf::actor_system& system, process_context& process,
                       const runtime::config::job_config& job,
                       runtime::process::work_queue& files,
                       const protocols::parameter_shard_actor& shard);

} // namespace troupe::actors
