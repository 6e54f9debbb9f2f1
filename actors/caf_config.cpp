// SPDX-License-Identifier: Apache-2.0
#include "actors/caf_config.hpp"

#include "runtime/config/deadlines.hpp"

#include <caf/io/middleman.hpp>

namespace troupe::actors {

caf_config::caf_config(const std::string& run_id, double deadline_scale) {
  using runtime::config::deadline;
  const caf::timespan silence =
    runtime::config::duration_of(deadline::silence, deadline_scale);
  load<caf::io::middleman>();
  add_message_types<caf::id_block::troupe>();
  // Sharing: 5.5 us to a compute thread and back; stealing sleeps up to 10 ms.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", std::size_t{2});
  set("middleman.app-identifiers", std::vector<std::string>{run_id});
  set("middleman.heartbeat-interval", silence / 10);
  set("middleman.connection-timeout", silence);
  set("middleman.enable-automatic-connections", false);
}

} // namespace troupe::actors
