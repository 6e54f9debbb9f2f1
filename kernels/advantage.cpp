// SPDX-License-Identifier: Apache-2.0
#include "kernels/advantage.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace troupe::kernels {

void group_advantages(std::span<const float> rewards,
                      std::span<float> advantages) {
  const bool are_equal =
    std::adjacent_find(rewards.begin(), rewards.end(), std::not_equal_to<>())
    == rewards.end();
  if (are_equal) {
    std::fill(advantages.begin(), advantages.end(), 0.0F);
    return;
  }
  const auto n = static_cast<double>(rewards.size());
  double total = 0;
  for (const float reward : rewards)
    total += double{reward};
  const double mean = total / n;
  double squares = 0;
  for (const float reward : rewards)
    squares += (double{reward} - mean) * (double{reward} - mean);
  const double deviation = std::sqrt(squares / (n - 1));
  for (std::size_t i = 0; i < rewards.size(); ++i)
    advantages[i] =
      static_cast<float>((double{rewards[i]} - mean) / (deviation + 1e-4));
}

} // namespace troupe::kernels
