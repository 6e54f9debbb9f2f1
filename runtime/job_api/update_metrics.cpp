// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_api/update_metrics.hpp"

#include <algorithm>
#include <array>

namespace troupe::runtime::job_api {

namespace {

enum class reduction : std::uint8_t { first, last, sum, largest, mean };

reduction reduction_of(std::string_view key) {
  constexpr std::array<std::string_view, 2> running{"train/policy_version",
                                                    "train/skipped_steps"};
  constexpr std::array<std::string_view, 3> added{
    "train/tokens", "train/nonfinite_logprobs", "train/overlong_samples"};
  if (key.starts_with("rollout/"))
    return reduction::first;
  if (std::ranges::find(running, key) != running.end())
    return reduction::last;
  if (std::ranges::find(added, key) != added.end())
    return reduction::sum;
  return key.ends_with("_max") ? reduction::largest : reduction::mean;
}

} // namespace

void update_metrics::add(const metrics& of_update) {
  for (const auto& [key, value] : of_update) {
    auto& [total, count] = of_key_[key];
    ++count;
    const auto how = reduction_of(key);
    if (count == 1 || how == reduction::last)
      total = value;
    else if (how == reduction::largest)
      total = std::max(total, value);
    else if (how != reduction::first)
      total += value;
  }
}

void update_metrics::write_to(metrics& values) const {
  for (const auto& [key, of_key] : of_key_)
    values[key] = reduction_of(key) == reduction::mean
                    ? of_key.total / static_cast<double>(of_key.count)
                    : of_key.total;
}

} // namespace troupe::runtime::job_api
