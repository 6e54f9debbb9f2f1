// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss_weights.hpp"

#include <algorithm>

namespace troupe::kernels {

namespace {

std::int64_t num_selected(std::span<const std::uint8_t> mask) {
  return std::count_if(mask.begin(), mask.end(),
                       [](std::uint8_t m) { return m != 0; });
}

double denominator_of(const loss_weight_settings& settings,
                      const loss_weight_counts& counts,
                      std::int64_t num_own_tokens) {
  switch (settings.aggregation) {
  case loss_aggregation::token_mean:
    return static_cast<double>(counts.num_tokens);
  case loss_aggregation::sequence_mean:
    return static_cast<double>(counts.num_sequences * num_own_tokens);
  case loss_aggregation::fixed_length:
    return static_cast<double>(counts.num_sequences * settings.fixed_length);
  case loss_aggregation::sequence_sum: break;
  }
  return static_cast<double>(counts.num_sequences);
}

} // namespace

loss_weight_counts loss_weights(std::span<const std::uint8_t> mask,
                                std::span<const std::int64_t> lengths,
                                const loss_weight_settings& settings,
                                std::span<float> weights) {
  loss_weight_counts counts{num_selected(mask), 0};
  std::size_t begin = 0;
  for (const auto length : lengths) {
    const auto n = static_cast<std::size_t>(length);
    counts.num_sequences += num_selected(mask.subspan(begin, n)) > 0 ? 1 : 0;
    begin += n;
  }
  begin = 0;
  for (const auto length : lengths) {
    const auto n = static_cast<std::size_t>(length);
    const auto own = mask.subspan(begin, n);
    const double denominator =
      denominator_of(settings, counts, num_selected(own));
    for (std::size_t i = 0; i < n; ++i)
      weights[begin + i] =
        own[i] != 0 ? static_cast<float>(1.0 / denominator) : 0.0F;
    begin += n;
  }
  return counts;
}

} // namespace troupe::kernels
