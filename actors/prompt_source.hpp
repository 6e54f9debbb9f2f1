// SPDX-License-Identifier: Apache-2.0
//
// Role: owns the position in the training data.
// Owner: coordinator. Peers: the loop.
// Blocking: never. Failure: none of its own.
#pragma once

#include "actors/control_context.hpp"
#include "protocols/interfaces.hpp"

#include <caf/actor_system.hpp>

namespace troupe::actors {

protocols::prompt_source_actor spawn_prompt_source(caf::actor_system& system,
                                                   control_context& control);

} // namespace troupe::actors
