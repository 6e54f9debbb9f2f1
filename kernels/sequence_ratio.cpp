// SPDX-License-Identifier: Apache-2.0
#include "kernels/sequence_ratio.hpp"

namespace troupe::kernels {

void sequence_log_ratios(std::span<const float> new_logprobs,
                         std::span<const float> old_logprobs,
                         std::span<const float> loss_weights,
                         std::span<const std::int64_t> lengths,
                         std::span<double> log_ratios) {
  std::size_t begin = 0;
  for (const auto length : lengths) {
    const auto end = begin + static_cast<std::size_t>(length);
    double total = 0, n = 0;
    for (auto t = begin; t < end; ++t)
      if (loss_weights[t] != 0) {
        total += double{new_logprobs[t]} - double{old_logprobs[t]};
        ++n;
      }
    for (auto t = begin; t < end; ++t)
      log_ratios[t] = loss_weights[t] != 0 ? total / n : 0;
    begin = end;
  }
}

} // namespace troupe::kernels
