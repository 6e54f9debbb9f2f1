// SPDX-License-Identifier: Apache-2.0
//
// Precompiled once for troupe_actors_control. Not to be included by hand.
#pragma once

#include "protocols/interfaces.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>
