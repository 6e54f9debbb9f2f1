// SPDX-License-Identifier: Apache-2.0
//
// All machines as a list of types, for what must be done with each: checks,
// drawings, tests. Code that looks a machine up by name wants machines.hpp.
#pragma once

#include "protocols/actor_machine.hpp"
#include "protocols/cache_machine.hpp"
#include "protocols/checkpoint_machine.hpp"
#include "protocols/group_machine.hpp"
#include "protocols/host_machine.hpp"
#include "protocols/job_machine.hpp"
#include "protocols/rank_machine.hpp"
#include "protocols/rollout_machine.hpp"
#include "protocols/shutdown_machine.hpp"
#include "protocols/slot_machine.hpp"
#include "protocols/weights_machine.hpp"

namespace troupe::protocols {

template <class... M>
struct machine_types {
  /// Calls f.template operator()<M>() for each machine, in order.
  template <class F>
  static constexpr void each(F&& f) {
    (f.template operator()<M>(), ...);
  }
};

using all_machines =
  machine_types<job_machine, host_machine, rank_machine, actor_machine,
                weights_machine, rollout_machine, slot_machine, cache_machine,
                group_machine, checkpoint_machine, shutdown_machine>;

} // namespace troupe::protocols
