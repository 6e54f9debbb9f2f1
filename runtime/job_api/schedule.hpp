// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/config/job_config.hpp"

#include <cstdint>

namespace troupe::runtime::job_api {

/// Returns the learning rate of optimizer step `step` (0-based) of `num_steps`:
/// a linear warm-up that reaches the full rate at step warmup_steps, then
/// constant, linear or cosine decay to min_learning_rate at the last step; wsd
/// stays at the full rate until the last decay_steps, and falls linearly.
/// Source: Hu et al. 2024, MiniCPM, section 4 (wsd).
/// Differs from transformers' schedules: the first step does not have rate 0.
double learning_rate(const config::optimizer_block& optimizer,
                     std::int64_t step, std::int64_t num_steps);

} // namespace troupe::runtime::job_api
