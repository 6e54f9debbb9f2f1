// SPDX-License-Identifier: Apache-2.0
//
// Role: this host's hands: asks the launcher for processes and holds the
// transport to each rank.
// Owner: coordinator. Peers: coordinator (start), launcher (by its client).
// Machine: docs/state_machines/host.md.
// Blocking: never; the launcher answers on its client's thread.
// Failure: the launcher's loss ends this process by its parent-death signal.
#pragma once

#include "actors/control_context.hpp"
#include "protocols/interfaces.hpp"

#include <caf/actor_system.hpp>

namespace troupe::actors {

protocols::host_agent_actor spawn_host_agent(caf::actor_system& system,
                                             control_context& control);

} // namespace troupe::actors
