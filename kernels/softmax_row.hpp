// SPDX-License-Identifier: Apache-2.0
//
// One row of a softmax, shared by token_logprobs and sample_token so that both
// give the same bits.
#pragma once

#include "kernels/scalar_math.hpp"

#include <cstdint>

namespace troupe::kernels {

/// The softmax of z = logits * inverse_temperature.
struct softmax_row {
  float maximum = 0;  ///< of z
  float total = 0;    ///< sum of exp(z - maximum)
  float weighted = 0; ///< sum of exp(z - maximum) * (z - maximum)
};

/// Implemented in softmax.cpp. exponentials [size] receives exp(z - maximum),
/// or is null.
softmax_row reduce_row(const float* logits, std::int64_t size,
                       float inverse_temperature, float* exponentials);

inline double log_total(const softmax_row& row) {
  return double{row.maximum} + log_of(double{row.total});
}

inline float logprob_of(const softmax_row& row, float logit,
                        float inverse_temperature) {
  const float z = logit * inverse_temperature;
  return static_cast<float>(double{z} - log_total(row));
}

} // namespace troupe::kernels
