// SPDX-License-Identifier: Apache-2.0
//
// The part of the engine whose size follows from the number of slots: one step
// over the rows that the scheduler plans, with buffers that are made once.
#pragma once

#include "runtime/rollout/engine_statistics.hpp"
#include "runtime/rollout/rollout_model.hpp"
#include "runtime/rollout/sampler.hpp"
#include "runtime/rollout/slot_scheduler.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe::runtime::rollout {

/// Thread: the compute thread.
class decode_batch {
public:
  decode_batch(const kv_cache_layout& layout, rollout_model& model,
               kernels::thread_pool& pool, const engine_settings& settings,
               slot_observer observer);

  /// Admits, computes one forward pass and draws the next tokens.
  /// Returns false if there was nothing to do.
  /// Errors: what the model throws; then no token was drawn, and the next step
  /// makes up for it.
  bool step(const kv_cache_view& cache, engine_statistics& statistics);

  /// What the last step drew: tokens()[i] belongs to slot drawing()[i]. The
  /// caller tells the scheduler which of them go on.
  [[nodiscard]] std::span<const std::int64_t> drawing() const {
    return rows_.drawing;
  }
  [[nodiscard]] std::span<const kernels::sampled_token> tokens() const {
    return {tokens_.data(), rows_.drawing.size()};
  }

  [[nodiscard]] const kv_cache_layout& layout() const { return layout_; }
  [[nodiscard]] slot_scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] const slot& slot_at(std::int64_t index) const {
    return scheduler_.slots()[static_cast<std::size_t>(index)];
  }

private:
  void forward(const kv_cache_view& cache, engine_statistics& statistics);
  void draw(std::size_t num_computed, engine_statistics& statistics);
  [[nodiscard]] kernels::matrix hidden_rows(std::size_t begin,
                                            std::size_t count);

  kv_cache_layout layout_;
  rollout_model& model_;
  kernels::thread_pool& pool_;
  std::int64_t prefill_tokens_per_step_;
  slot_scheduler scheduler_;
  sampler sampler_;
  step_rows rows_;
  std::vector<float> hidden_;       // [2 num_slots, D]: drawing, then keeping
  std::unique_ptr<float[]> logits_; // [num_slots, V]
  std::vector<sampling_row> drawing_rows_;
  std::vector<kernels::sampled_token> tokens_;
};

} // namespace troupe::runtime::rollout
