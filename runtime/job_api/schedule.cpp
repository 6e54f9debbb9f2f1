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
  const bool is_stable_first = optimizer.schedule == "wsd";
  const auto begin = is_stable_first
                       ? num_steps - 1 - optimizer.decay_steps
                       : optimizer.warmup_steps; // the last with the full rate
  const auto decay_steps = std::max<std::int64_t>(1, num_steps - 1 - begin);
  const double done = std::clamp(static_cast<double>(step - begin)
                                   / static_cast<double>(decay_steps),
                                 0.0, 1.0);
  if (optimizer.schedule == "linear" || is_stable_first)
    return full + (low - full) * done;
  if (optimizer.schedule == "cosine")
    return low + (full - low) * 0.5 * (1 + std::cos(std::numbers::pi * done));
  return full;
}

} // namespace troupe::runtime::job_api
