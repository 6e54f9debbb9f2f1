// SPDX-License-Identifier: Apache-2.0
//
// Role: the job's root: places and admits ranks, decides once about failure and
// abort, runs the ordered shutdown. No loop logic.
// Owner: the coordinator's main.
// Peers: loop (open, close), rank supervisors, host agent, launcher's events.
// Machines: docs/state_machines/{job,rank,shutdown}.md.
// Blocking: never. Every phase has a deadline.
// Failure: a rank's loss fails the job, with its last state as the cause.
#pragma once

#include "actors/control_context.hpp"
#include "actors/job_link.hpp"
#include "protocols/interfaces.hpp"

#include <caf/actor_system.hpp>

#include <memory>
#include <string>

namespace troupe::actors {

struct coordinator_config {
  control_context& control;
  std::shared_ptr<job_link> link;
  protocols::host_agent_actor host_agent;
  std::string resume_from; ///< sealed checkpoint, or empty
  std::string loop_state;  ///< of that checkpoint
};

protocols::coordinator_actor spawn_coordinator(caf::actor_system& system,
                                               coordinator_config config);

/// The port that the coordinator listens on; once, after it is published.
void set_address(const protocols::coordinator_actor& coordinator,
                 const std::string& address);

} // namespace troupe::actors
