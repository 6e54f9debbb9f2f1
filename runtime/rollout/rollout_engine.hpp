// SPDX-License-Identifier: Apache-2.0
//
// The rollout engine: continuous batching of samples over fixed slots. A plain
// class that its owner drives by quanta; it knows no actors, no text and no
// rewards. A group's tokens and logprobs are a function of (weights, job seed,
// request): never of slots, batch, order of submission or prompt sharing.
#pragma once

#include "kernels/thread_pool.hpp"
#include "runtime/experience/rollout_group.hpp"
#include "runtime/rollout/engine_statistics.hpp"
#include "runtime/rollout/rollout_model.hpp"
#include "runtime/rollout/rollout_request.hpp"
#include "runtime/rollout/slot_scheduler.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace troupe::runtime::rollout {

/// Why a quantum ended.
enum class quantum_end : std::uint8_t {
  idle,        ///< nothing is left to generate
  steps_done,  ///< max_steps were made
  interrupted, ///< the control word was not 0
  paused,
};

struct quantum_report {
  quantum_end end = quantum_end::idle;
  std::int64_t num_steps = 0;
  std::int64_t num_generated_tokens = 0;
  std::int64_t num_finished_groups = 0; ///< waiting in take_finished
};

enum class abort_result : std::uint8_t { aborted, unknown };

/// Invariants: RB-1 (FIFO) samples enter slots in the order of submission and
/// sample index; RB-2 (free means untouched) a slot without a sample is never
/// written; RB-3 (lengths, not values) where a sample ends follows from
/// its length and its last id, never from padding.
/// Thread: one at a time (the compute thread); only the control word may be
/// written meanwhile.
class rollout_engine {
public:
  /// The model and the pool outlive the engine.
  /// Errors: invalid_request for a budget below 1.
  rollout_engine(const engine_settings& settings, rollout_model& model,
                 kernels::thread_pool& pool, slot_observer observer = {});
  ~rollout_engine();
  rollout_engine(const rollout_engine&) = delete;
  rollout_engine& operator=(const rollout_engine&) = delete;

  /// Takes over a lease: its contents are not read before they were written.
  /// Errors: refused_by_state (one is attached, or samples are in flight and
  /// the layout is another one); invalid_request (no slots).
  void attach_cache(const kv_cache_view& cache);

  /// Gives the lease back. Samples in slots keep their tokens and are
  /// computed again once a cache is attached.
  /// Errors: refused_by_state without one.
  void detach_cache();
  [[nodiscard]] bool has_cache() const;

  /// The weights are now those of `version`. All KV of older weights is dropped
  /// and computed again from prompt and completion so far.
  void on_weights_changed(protocols::policy_version version);

  /// Queues all samples of a request, or none.
  /// Errors: as check_request; invalid_request for an id that the engine
  /// holds; refused_by_state without a cache.
  void submit(rollout_request request);

  /// Ends a group with what it has; it comes out of take_finished with
  /// finish_reason::aborted on the samples that had not ended.
  abort_result abort(const protocols::group_id& id);
  void abort_all();

  void pause();
  void resume();
  [[nodiscard]] bool is_paused() const;

  /// Makes at most max_steps steps. Reads `control` before each: 0 means go on.
  /// Errors: refused_by_state without a cache or before on_weights_changed;
  /// nonfinite_logits, after which groups can only be aborted. What the model
  /// throws passes through; the engine can go on after it.
  quantum_report decode_quantum(std::int64_t max_steps,
                                const std::atomic<std::uint32_t>& control);

  /// Returns the finished groups in the order in which they finished, and
  /// forgets them. Texts are empty: decoding them is the caller's part.
  std::vector<experience::rollout_group> take_finished();

  /// Returns the number of samples that are queued or in slots.
  [[nodiscard]] std::int64_t num_unfinished_samples() const;
  [[nodiscard]] const engine_statistics& statistics() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace troupe::runtime::rollout
