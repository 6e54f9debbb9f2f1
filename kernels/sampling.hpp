// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace troupe::kernels {

struct sampling_settings {
  float temperature = 1.0F; ///< <= 0: greedy, the lowest id among equals
  std::int32_t top_k = 0;   ///< 0: off
  float top_p = 1.0F;       ///< 1: off; the token that crosses p is kept
};

struct sampled_token {
  std::int32_t id = 0;
  float logprob = 0;          ///< after temperature, before the filters
  float filtered_logprob = 0; ///< after temperature and filters
};

/// Draws one token from one row of logits [V] by inversion of `uniform` in
/// [0, 1) over the kept tokens in rising id. logprob has the bits
/// of token_logprobs(row). Greedy: logprob is at temperature 1 and
/// filtered_logprob is 0. Top-k keeps exactly k, of equals the lowest ids, and
/// comes before top-p, whose p is a share of what top-k kept. A row with NaN or
/// +infinity, or of -infinity alone, gives its largest number (the lowest id)
/// with a NaN logprob: the caller has to look. `scratch` holds at least V
/// floats. Source: Holtzman et al. 2020, section 3.1 (top-p).
sampled_token sample_token(std::span<const float> logits,
                           const sampling_settings& settings, double uniform,
                           std::span<float> scratch);

} // namespace troupe::kernels
