// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/rank_context.hpp"
#include "protocols/failure.hpp"
#include "runtime/experience/row_codec.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace troupe::actors {

struct fetched_rows {
  std::vector<runtime::experience::rollout_group> rows; ///< in the order asked
  std::optional<protocols::failure> error;
};

/// Pulls rows from the host's agent. Calls `done` once, on the endpoint's
/// thread, at the deadline at the latest.
void fetch_rows(rank_context& rank,
                const runtime::experience::row_request& request,
                std::function<void(fetched_rows)> done);

} // namespace troupe::actors
