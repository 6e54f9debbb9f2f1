// SPDX-License-Identifier: Apache-2.0
#include "kernels/importance_weights.hpp"

#include "kernels/scalar_math.hpp"

#include <algorithm>

namespace troupe::kernels {

namespace {

bool is_of_sequence(importance_correction c) {
  return c == importance_correction::sequence_truncate
         || c == importance_correction::sequence_mask;
}

bool is_mask(importance_correction c) {
  return c == importance_correction::token_mask
         || c == importance_correction::sequence_mask;
}

} // namespace

importance_counts importance_weights(std::span<const float> old_logprobs,
                                     std::span<const float> rollout_logprobs,
                                     std::span<const float> loss_weights,
                                     std::span<const std::int64_t> lengths,
                                     const importance_settings& settings,
                                     std::span<float> out) {
  importance_counts counts;
  std::fill(out.begin(), out.end(), 1.0F);
  if (settings.correction == importance_correction::none)
    return counts;
  const double min = double{settings.min}, max = double{settings.max};
  std::size_t begin = 0;
  for (const auto length : lengths) {
    const auto end = begin + static_cast<std::size_t>(length);
    const auto gap = [&](std::size_t t) {
      return double{old_logprobs[t]} - double{rollout_logprobs[t]};
    };
    double total = 0;
    for (auto t = begin; t < end; ++t)
      if (loss_weights[t] != 0)
        total += gap(t);
    for (auto t = begin; t < end; ++t) {
      if (loss_weights[t] == 0)
        continue;
      const double weight =
        exp_of(is_of_sequence(settings.correction) ? total : gap(t));
      const bool is_outside = weight < min || weight > max;
      const double bounded = is_mask(settings.correction)
                               ? (is_outside ? 0 : weight)
                               : std::clamp(weight, min, max);
      counts.num_bounded += is_outside ? 1 : 0;
      counts.total += bounded;
      out[t] = static_cast<float>(bounded);
    }
    begin = end;
  }
  return counts;
}

} // namespace troupe::kernels
