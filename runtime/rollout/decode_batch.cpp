// SPDX-License-Identifier: Apache-2.0
#include "runtime/rollout/decode_batch.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace troupe::runtime::rollout {

namespace {

class stopwatch {
public:
  /// Returns the milliseconds since the last lap.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> passed = now - last_;
    last_ = now;
    return passed.count();
  }

private:
  std::chrono::steady_clock::time_point last_ =
    std::chrono::steady_clock::now();
};

} // namespace

decode_batch::decode_batch(const kv_cache_layout& layout, rollout_model& model,
                           kernels::thread_pool& pool,
                           const engine_settings& settings,
                           slot_observer observer)
  : layout_(layout), model_(model), pool_(pool),
    prefill_tokens_per_step_(settings.prefill_tokens_per_step),
    scheduler_(layout.num_slots, settings.sharing, std::move(observer)),
    sampler_(settings.job_seed, layout.num_slots, model.vocab_size()),
    hidden_(
      static_cast<std::size_t>(2 * layout.num_slots * model.hidden_size())),
    logits_(new float[static_cast<std::size_t>(layout.num_slots
                                               * model.vocab_size())]),
    tokens_(static_cast<std::size_t>(layout.num_slots)) {}

bool decode_batch::step(const kv_cache_view& cache,
                        engine_statistics& statistics) {
  statistics.num_shared_tokens += scheduler_.admit();
  scheduler_.plan(prefill_tokens_per_step_, rows_);
  const auto num_computed = rows_.drawing.size();
  if (rows_.ids.empty() && rows_.waiting.empty())
    return false;
  if (!rows_.ids.empty())
    forward(cache, statistics);
  statistics.num_shared_tokens += scheduler_.share_prompts(cache, rows_);
  statistics.peak_cache_tokens =
    std::max(statistics.peak_cache_tokens, scheduler_.num_cached_tokens());
  if (!rows_.drawing.empty())
    draw(num_computed, statistics);
  ++statistics.num_steps;
  return true;
}

kernels::matrix decode_batch::hidden_rows(std::size_t begin,
                                          std::size_t count) {
  const auto width = model_.hidden_size();
  return {hidden_.data() + begin * static_cast<std::size_t>(width),
          static_cast<std::int64_t>(count), width};
}

void decode_batch::forward(const kv_cache_view& cache,
                           engine_statistics& statistics) {
  stopwatch watch;
  model_.forward({rows_.ids, rows_.positions, rows_.slots, rows_.wanted}, cache,
                 hidden_rows(0, rows_.wanted.size()));
  const auto ms = watch.lap();
  scheduler_.count_cached(rows_);
  const auto kept = hidden_rows(rows_.drawing.size(), rows_.keeping.size());
  for (std::int64_t r = 0; r < kept.rows; ++r)
    slot_at(rows_.keeping[static_cast<std::size_t>(r)])
      .group->prompt_hidden.assign(kept.row(r), kept.row(r) + kept.cols);
  const auto decode_share = static_cast<double>(rows_.num_decode_rows)
                            / static_cast<double>(rows_.ids.size());
  statistics.decode_ms += ms * decode_share;
  statistics.prefill_ms += ms * (1 - decode_share);
  statistics.num_prefill_tokens += rows_.num_prefill_rows;
  statistics.num_decode_rows += rows_.num_decode_rows;
  statistics.num_decode_steps += rows_.num_decode_rows > 0;
}

/// The first num_computed of the drawing slots have their hidden rows from the
/// forward pass; the others begin with their prompt's last row.
void decode_batch::draw(std::size_t num_computed,
                        engine_statistics& statistics) {
  const auto hidden = hidden_rows(0, rows_.drawing.size());
  drawing_rows_.clear();
  for (std::size_t r = 0; r < rows_.drawing.size(); ++r) {
    const auto& s = slot_at(rows_.drawing[r]);
    if (r >= num_computed)
      std::memcpy(hidden.row(static_cast<std::int64_t>(r)),
                  s.group->prompt_hidden.data(),
                  s.group->prompt_hidden.size() * sizeof(float));
    drawing_rows_.push_back(
      {&s.group->request, static_cast<std::uint32_t>(s.sample_index),
       static_cast<std::uint32_t>(s.sample().completion_ids.size())});
  }
  stopwatch watch;
  const kernels::matrix logits(logits_.get(), hidden.rows, model_.vocab_size());
  model_.logits(hidden, logits);
  statistics.logits_ms += watch.lap();
  sampler_.draw(logits, drawing_rows_, {tokens_.data(), rows_.drawing.size()},
                pool_);
  statistics.sampling_ms += watch.lap();
}

} // namespace troupe::runtime::rollout
