// SPDX-License-Identifier: Apache-2.0
#include "kernels/advantage.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace troupe::kernels {

namespace {

/// Count, mean and standard deviation (n - 1) of the finite numbers.
struct moments {
  double n = 0, total = 0, mean = 0, deviation = 0;
};

template <class Number>
moments moments_of(std::span<const Number> values) {
  moments m;
  for (const auto value : values)
    if (std::isfinite(value)) {
      m.total += double{value};
      ++m.n;
    }
  if (m.n == 0)
    return m;
  m.mean = m.total / m.n;
  double squares = 0;
  for (const auto value : values)
    if (std::isfinite(value))
      squares += (double{value} - m.mean) * (double{value} - m.mean);
  m.deviation = m.n > 1 ? std::sqrt(squares / (m.n - 1)) : 0;
  return m;
}

} // namespace

bool is_flat(std::span<const float> rewards) {
  const auto is_finite = [](float r) { return std::isfinite(r); };
  const auto first = std::find_if(rewards.begin(), rewards.end(), is_finite);
  return std::none_of(first, rewards.end(),
                      [&](float r) { return is_finite(r) && r != *first; });
}

advantage_counts compute_advantages(std::span<const float> rewards,
                                    std::span<const std::int64_t> group_sizes,
                                    const advantage_settings& settings,
                                    std::span<float> advantages) {
  advantage_counts counts;
  // The differences to the baselines; NaN where there is no advantage.
  std::vector<double> differences(rewards.size(), std::nan(""));
  std::vector<double> deviations(rewards.size());
  std::size_t begin = 0;
  for (const auto size : group_sizes) {
    const auto group = rewards.subspan(begin, static_cast<std::size_t>(size));
    const auto m = moments_of(group);
    counts.num_nonfinite += size - static_cast<std::int64_t>(m.n);
    counts.num_flat_groups += is_flat(group) ? 1 : 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const double reward = double{group[i]};
      deviations[begin + i] = m.deviation;
      if (!std::isfinite(reward))
        continue;
      differences[begin + i] =
        is_flat(group) ? 0
        : settings.baseline == advantage_baseline::group_mean
          ? reward - m.mean
          : reward - (m.total - reward) / (m.n - 1);
    }
    begin += group.size();
  }
  double batch_deviation = 0;
  if (settings.scale == advantage_scale::batch_std)
    batch_deviation = moments_of(rewards).deviation;
  else if (settings.scale == advantage_scale::batch_advantage_std)
    batch_deviation =
      moments_of(std::span<const double>{differences}).deviation;
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    const bool is_group = settings.scale == advantage_scale::group_std;
    const double scale =
      settings.scale == advantage_scale::none
        ? 1
        : (is_group ? deviations[i] : batch_deviation) + 1e-4;
    advantages[i] = std::isfinite(differences[i])
                      ? static_cast<float>(differences[i] / scale)
                      : 0.0F;
  }
  return counts;
}

} // namespace troupe::kernels
