// SPDX-License-Identifier: Apache-2.0
//
// Which sample stands in which slot, and which rows the next forward pass
// computes. A sample is its token ids and the number of them that its slot has
// cached; prefill, chunked prefill, decode and recompute are all "compute rows
// up to the last id, then draw the next". No tensors, no sampling.
#pragma once

#include "protocols/slot_machine.hpp"
#include "runtime/experience/rollout_group.hpp"
#include "runtime/rollout/kv_cache.hpp"
#include "runtime/rollout/rollout_request.hpp"

#include <deque>
#include <functional>
#include <vector>

namespace troupe::runtime::rollout {

/// Told of each move of a slot into another state (for the journal).
using slot_observer = std::function<void(
  std::int64_t slot_index, protocols::slot_machine::state from,
  protocols::slot_machine::event event, protocols::slot_machine::state to)>;

/// Whether the samples of a group share one prefill of their prompt. The
/// tokens are the same either way.
enum class prompt_sharing : std::uint8_t { on, off };

/// A request and what it has given so far.
struct active_group {
  rollout_request request;
  std::uint64_t serial = 0; ///< never used twice, never 0
  std::vector<experience::sample> samples;
  std::int64_t num_unfinished = 0;
  /// [D], of the last prompt token, as its KV row was last computed; kept if
  /// there are siblings to share it.
  std::vector<float> prompt_hidden;

  [[nodiscard]] std::int64_t num_prompt_tokens() const {
    return static_cast<std::int64_t>(request.prompt_ids.size());
  }
};

/// One row of the decode batch.
struct slot {
  protocols::slot_machine::state state = protocols::slot_machine::initial;
  active_group* group = nullptr; ///< null: free
  std::int64_t sample_index = 0;
  std::uint64_t admission = 0; ///< rises with each sample that enters
  /// Whose tokens are cached, and how many. A free slot keeps the prompt of its
  /// last sample until another one enters.
  std::uint64_t cached_serial = 0;
  std::int64_t num_cached = 0;

  [[nodiscard]] experience::sample& sample() const {
    return group->samples[static_cast<std::size_t>(sample_index)];
  }
  /// Returns the number of prompt and completion tokens.
  [[nodiscard]] std::int64_t num_tokens() const;
  [[nodiscard]] std::int32_t token_id(std::int64_t position) const;
};

/// What one step computes. Rows as in forward_rows; wanted rows are first those
/// of `drawing`, one each in that order, then those of `keeping`.
struct step_rows {
  std::vector<std::int32_t> ids, positions, slots, wanted;
  std::vector<std::int64_t> drawing; ///< slots that get their next token
  std::vector<std::int64_t> keeping; ///< slots whose prompt's end is computed
  std::vector<std::int64_t> waiting; ///< slots that take a sibling's prompt
  std::int64_t num_prefill_rows = 0;
  std::int64_t num_decode_rows = 0;

  void clear();
};

/// Invariants: RB-1, FIFO: samples enter slots in the order of enqueue and
/// sample index; RB-2, free means untouched: no row is planned for a slot
/// without a sample.
class slot_scheduler {
public:
  slot_scheduler(std::int64_t num_slots, prompt_sharing sharing,
                 slot_observer observer);

  void enqueue(active_group& group);
  /// Takes the samples of a group that are not in slots out of the queue.
  void withdraw(const active_group& group);
  [[nodiscard]] bool is_queue_empty() const { return queue_.empty(); }

  /// Puts queued samples into free slots. Returns the number of prompt tokens
  /// that the slots had kept of a sibling.
  std::int64_t admit();

  /// Plans all rows that decode, and prefill rows in the order of admission up
  /// to max_prefill_rows.
  void plan(std::int64_t max_prefill_rows, step_rows& out) const;

  /// To be called after the forward pass of `rows`.
  void count_cached(const step_rows& rows);

  /// Copies prompts to the waiting slots whose siblings have theirs computed by
  /// now, and appends those that can draw to rows.drawing. Returns the number
  /// of tokens copied.
  std::int64_t share_prompts(const kv_cache_view& cache, step_rows& rows);

  /// The slot's sample has got a token: it goes on, or it is complete and the
  /// slot is free.
  void go_on(std::int64_t slot_index);
  void finish(std::int64_t slot_index);
  void abort(std::int64_t slot_index);

  /// Forgets all that is cached. Returns the number of samples that have to be
  /// computed again.
  std::int64_t drop_cached();

  [[nodiscard]] const std::vector<slot>& slots() const { return slots_; }
  [[nodiscard]] std::int64_t num_cached_tokens() const;

private:
  struct queued_sample {
    active_group* group;
    std::int64_t sample_index;
  };

  void apply(std::int64_t slot_index, protocols::slot_machine::event event,
             const protocols::slot_machine::data& data = {});
  void release(std::int64_t slot_index);
  [[nodiscard]] std::int64_t pick_free_slot(const active_group& next) const;
  [[nodiscard]] bool has_prompt(const slot& s, const active_group& group) const;
  [[nodiscard]] bool waits_for_sibling(const slot& s) const;
  void plan_prefill(std::int64_t slot_index, std::int64_t num_rows,
                    step_rows& out) const;

  std::vector<slot> slots_;
  std::deque<queued_sample> queue_;
  prompt_sharing sharing_;
  slot_observer observer_;
  std::uint64_t num_admissions_ = 0;
};

} // namespace troupe::runtime::rollout
