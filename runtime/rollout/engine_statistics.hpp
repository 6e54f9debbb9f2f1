// SPDX-License-Identifier: Apache-2.0
//
// What a rollout engine is told once, and what it counts.
#pragma once

#include "runtime/rollout/slot_scheduler.hpp"

#include <cstdint>

namespace troupe::runtime::rollout {

struct engine_settings {
  std::uint64_t job_seed = 0;
  std::int64_t prefill_tokens_per_step = 512; ///< at least 1
  prompt_sharing sharing = prompt_sharing::on;
};

/// Sums since the engine was made.
struct engine_statistics {
  std::int64_t num_steps = 0;
  std::int64_t num_prefill_tokens = 0; ///< rows that were computed
  std::int64_t num_shared_tokens = 0;  ///< prompt rows copied or kept instead
  std::int64_t num_decode_steps = 0;   ///< steps with at least one decode row
  std::int64_t num_decode_rows = 0;
  std::int64_t num_generated_tokens = 0;
  std::int64_t num_recomputed_samples = 0; ///< their KV was dropped
  std::int64_t peak_cache_tokens = 0;      ///< rows held by samples at once
  double prefill_ms = 0; ///< of a mixed step: the share of its rows
  double decode_ms = 0;
  double logits_ms = 0;
  double sampling_ms = 0;
};

} // namespace troupe::runtime::rollout
