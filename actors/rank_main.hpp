// SPDX-License-Identifier: Apache-2.0
//
// How a rank is started: the contract between host agent and troupe_rank.
// argv: run directory, process name, coordinator's address (host:port), run id,
// mode (train | generate).
#pragma once

namespace troupe::actors {

/// The rank's end of the transport to its host's agent.
inline constexpr int rank_transport_fd = 3;

} // namespace troupe::actors
