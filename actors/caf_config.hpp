// SPDX-License-Identifier: Apache-2.0
//
// The settings that every actor system of ours runs with (OPERATIONS D.2,
// F.8).
#pragma once

#include "protocols/message_types.hpp"

#include <caf/actor_system_config.hpp>

#include <string>

namespace troupe::actors {

class caf_config : public caf::actor_system_config {
public:
  /// `run_id`: peers of another run are refused. A peer that is silent for
  /// deadline::silence times `deadline_scale` is lost.
  caf_config(const std::string& run_id, double deadline_scale);
};

} // namespace troupe::actors
