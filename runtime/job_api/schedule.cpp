// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_api/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace troupe::runtime::job_api {

double learning_rate(const config::optimizer_block& optimizer,
                     std::int64_t step, std::int64_t num_steps) {
  const double full = optimizer.learning_rate;
  if (step < optimizer.warmup_steps)
    return full * static_cast<double>(step + 1)
           / static_cast<double>(optimizer.warmup_steps + 1);
  const double low = optimizer.min_learning_rate;
  const auto decay_steps =
    std::max<std::int64_t>(1, num_steps - 1 - optimizer.warmup_steps);
  const double done =
    std::min(1.0, static_cast<double>(step - optimizer.warmup_steps)
                    / static_cast<double>(decay_steps));
  if (optimizer.schedule == "linear")
    return full + (low - full) * done;
  if (optimizer.schedule == "cosine")
    return low + (full - low) * 0.5 * (1 + std::cos(std::numbers::pi * done));
  return full;
}

} // namespace troupe::runtime::job_api
