// SPDX-License-Identifier: Apache-2.0
#include "runtime/rollout/rollout_engine.hpp"

#include "protocols/failure.hpp"
#include "runtime/rollout/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace troupe::runtime::rollout {

using experience::finish_reason;
using protocols::errc;
using protocols::failure;

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

/// Everything whose size follows from the number of slots.
struct decode_batch {
  decode_batch(const kv_cache_view& view, const rollout_model& model,
               const engine_settings& settings, const slot_observer& observer)
    : layout(view.layout), cache(view),
      scheduler(view.layout.num_slots, settings.sharing, observer),
      draws(settings.job_seed, view.layout.num_slots, model.vocab_size()),
      hidden(static_cast<std::size_t>(2 * view.layout.num_slots
                                      * model.hidden_size())),
      logits(new float[static_cast<std::size_t>(view.layout.num_slots
                                                * model.vocab_size())]),
      tokens(static_cast<std::size_t>(view.layout.num_slots)) {
    drawing_rows.reserve(tokens.size());
  }

  kv_cache_layout layout;
  std::optional<kv_cache_view> cache; ///< while it is leased
  slot_scheduler scheduler;
  sampler draws;
  step_rows rows;
  std::vector<float> hidden;       ///< [2 num_slots, D]: drawing, then keeping
  std::unique_ptr<float[]> logits; ///< [num_slots, V]
  std::vector<kernels::sampled_token> tokens;
  std::vector<sampling_row> drawing_rows;
};

} // namespace

struct rollout_engine::state {
  state(const engine_settings& s, rollout_model& m, kernels::thread_pool& p,
        slot_observer o)
    : settings(s), model(m), pool(p), observer(std::move(o)) {}

  engine_settings settings;
  rollout_model& model;
  kernels::thread_pool& pool;
  slot_observer observer;
  std::optional<protocols::policy_version> version;
  std::optional<decode_batch> batch; ///< from the first cache on
  std::map<protocols::group_id, std::unique_ptr<active_group>> groups;
  std::vector<experience::rollout_group> finished;
  std::uint64_t num_submitted = 0;
  bool paused = false;
  engine_statistics statistics;

  bool step();
  void forward();
  void draw();
  void accept(std::int64_t slot_index, const kernels::sampled_token& token);
  void finish_sample(active_group& group, experience::sample& sample,
                     finish_reason reason);
  void finish_group(active_group& group);
  void abort(active_group& group);
  [[nodiscard]] kernels::matrix hidden_rows(std::size_t begin,
                                            std::size_t count);
  [[nodiscard]] bool holds(const protocols::group_id& id) const;
  void require_cache(const char* call) const;
};

// -- one step -----------------------------------------------------------------

/// Returns false if there was nothing to do.
bool rollout_engine::state::step() {
  auto& b = *batch;
  statistics.num_shared_tokens += b.scheduler.admit();
  b.scheduler.plan(settings.prefill_tokens_per_step, b.rows);
  if (b.rows.ids.empty() && b.rows.waiting.empty())
    return false;
  if (!b.rows.ids.empty())
    forward();
  statistics.num_shared_tokens += b.scheduler.share_prompts(*b.cache, b.rows);
  statistics.peak_cache_tokens =
    std::max(statistics.peak_cache_tokens, b.scheduler.num_cached_tokens());
  if (!b.rows.drawing.empty())
    draw();
  ++statistics.num_steps;
  return true;
}

kernels::matrix rollout_engine::state::hidden_rows(std::size_t begin,
                                                   std::size_t count) {
  const auto width = model.hidden_size();
  return {batch->hidden.data() + begin * static_cast<std::size_t>(width),
          static_cast<std::int64_t>(count), width};
}

void rollout_engine::state::forward() {
  auto& b = *batch;
  stopwatch watch;
  model.forward({b.rows.ids, b.rows.positions, b.rows.slots, b.rows.wanted},
                *b.cache, hidden_rows(0, b.rows.wanted.size()));
  b.scheduler.count_cached(b.rows);
  const auto kept = hidden_rows(b.rows.drawing.size(), b.rows.keeping.size());
  for (std::int64_t r = 0; r < kept.rows; ++r) {
    const auto index = b.rows.keeping[static_cast<std::size_t>(r)];
    b.scheduler.slots()[static_cast<std::size_t>(index)]
      .group->prompt_hidden.assign(kept.row(r), kept.row(r) + kept.cols);
  }
  const auto num_rows = static_cast<double>(b.rows.ids.size());
  const auto ms = watch.lap();
  const auto decode_share =
    static_cast<double>(b.rows.num_decode_rows) / num_rows;
  statistics.decode_ms += ms * decode_share;
  statistics.prefill_ms += ms * (1 - decode_share);
  statistics.num_prefill_tokens += b.rows.num_prefill_rows;
  statistics.num_decode_rows += b.rows.num_decode_rows;
  statistics.num_decode_steps += b.rows.num_decode_rows > 0;
}

void rollout_engine::state::draw() {
  auto& b = *batch;
  const auto& slots = b.scheduler.slots();
  const auto num_rows = b.rows.drawing.size();
  // Those behind the forward's rows begin with their prompt's last row.
  const auto num_computed = b.rows.wanted.size() - b.rows.keeping.size();
  const auto hidden = hidden_rows(0, num_rows);
  b.drawing_rows.clear();
  for (std::size_t r = 0; r < num_rows; ++r) {
    const auto& s = slots[static_cast<std::size_t>(b.rows.drawing[r])];
    if (r >= num_computed)
      std::memcpy(hidden.row(static_cast<std::int64_t>(r)),
                  s.group->prompt_hidden.data(),
                  s.group->prompt_hidden.size() * sizeof(float));
    b.drawing_rows.push_back(
      {&s.group->request, static_cast<std::uint32_t>(s.sample_index),
       static_cast<std::uint32_t>(s.sample().completion_ids.size())});
  }
  stopwatch watch;
  const kernels::matrix logits(
    b.logits.get(), static_cast<std::int64_t>(num_rows), model.vocab_size());
  model.logits(hidden, logits);
  statistics.logits_ms += watch.lap();
  b.draws.draw(logits, b.drawing_rows, {b.tokens.data(), num_rows}, pool);
  statistics.sampling_ms += watch.lap();
  for (std::size_t r = 0; r < num_rows; ++r)
    accept(b.rows.drawing[r], b.tokens[r]);
}

void rollout_engine::state::accept(std::int64_t slot_index,
                                   const kernels::sampled_token& token) {
  auto& scheduler = batch->scheduler;
  const auto& s = scheduler.slots()[static_cast<std::size_t>(slot_index)];
  auto& group = *s.group;
  auto& sample = s.sample();
  if (sample.completion_ids.empty())
    sample.min_policy_version = *version;
  sample.max_policy_version = *version;
  sample.completion_ids.push_back(token.id);
  sample.rollout_logprobs.push_back(token.logprob);
  sample.filtered_rollout_logprobs.push_back(token.filtered_logprob);
  ++statistics.num_generated_tokens;
  const auto& wanted = group.request.sampling;
  const bool stops =
    std::find(wanted.stop_ids.begin(), wanted.stop_ids.end(), token.id)
    != wanted.stop_ids.end();
  if (!stops
      && static_cast<std::int64_t>(sample.completion_ids.size())
           < wanted.max_new_tokens) {
    scheduler.go_on(slot_index);
    return;
  }
  scheduler.finish(slot_index);
  finish_sample(group, sample,
                stops ? finish_reason::stop_token : finish_reason::budget);
}

// -- groups -------------------------------------------------------------------

void rollout_engine::state::finish_sample(active_group& group,
                                          experience::sample& sample,
                                          finish_reason reason) {
  sample.finish = reason;
  if (--group.num_unfinished == 0)
    finish_group(group);
}

void rollout_engine::state::finish_group(active_group& group) {
  const auto id = group.request.id;
  finished.push_back({id, group.request.epoch,
                      std::move(group.request.prompt_ids),
                      std::move(group.samples)});
  groups.erase(id);
}

void rollout_engine::state::abort(active_group& group) {
  auto& scheduler = batch->scheduler;
  scheduler.withdraw(group);
  for (std::size_t i = 0; i < scheduler.slots().size(); ++i)
    if (scheduler.slots()[i].group == &group)
      scheduler.abort(static_cast<std::int64_t>(i));
  finish_group(group); // unfinished samples say `aborted` from the start
}

bool rollout_engine::state::holds(const protocols::group_id& id) const {
  return groups.contains(id)
         || std::any_of(finished.begin(), finished.end(),
                        [&](const auto& g) { return g.id == id; });
}

void rollout_engine::state::require_cache(const char* call) const {
  if (!batch || !batch->cache)
    throw failure(errc::refused_by_state,
                  std::string("rollout engine: ") + call
                    + " without a KV cache; attach one first");
}

// -- interface ----------------------------------------------------------------

rollout_engine::rollout_engine(const engine_settings& settings,
                               rollout_model& model, kernels::thread_pool& pool,
                               slot_observer observer)
  : state_(
    std::make_unique<state>(settings, model, pool, std::move(observer))) {
  if (settings.prefill_tokens_per_step < 1)
    throw failure(errc::invalid_request,
                  "rollout engine: prefill_tokens_per_step is "
                    + std::to_string(settings.prefill_tokens_per_step)
                    + "; allowed: 1 or more");
}

rollout_engine::~rollout_engine() = default;

void rollout_engine::attach_cache(const kv_cache_view& cache) {
  auto& batch = state_->batch;
  if (batch && batch->cache)
    throw failure(errc::refused_by_state,
                  "rollout engine: a KV cache is attached already; "
                  "detach it first");
  if (batch && batch->layout == cache.layout) {
    batch->cache = cache;
    return;
  }
  if (!state_->groups.empty())
    throw failure(errc::refused_by_state,
                  "rollout engine: " + std::to_string(num_unfinished_samples())
                    + " samples are in flight, so that the KV cache must have "
                      "the layout that it had; finish or abort them first");
  if (cache.layout.num_slots < 1)
    throw failure(errc::invalid_request,
                  "rollout engine: the KV cache has "
                    + std::to_string(cache.layout.num_slots)
                    + " slots; allowed: 1 or more");
  batch.emplace(cache, state_->model, state_->settings, state_->observer);
}

void rollout_engine::detach_cache() {
  state_->require_cache("detach_cache");
  auto& batch = *state_->batch;
  state_->statistics.num_recomputed_samples += batch.scheduler.drop_cached();
  batch.cache.reset();
}

void rollout_engine::on_weights_changed(protocols::policy_version version) {
  if (state_->batch)
    state_->statistics.num_recomputed_samples +=
      state_->batch->scheduler.drop_cached();
  state_->version = version;
}

void rollout_engine::submit(rollout_request request) {
  state_->require_cache("submit");
  const auto& layout = state_->batch->cache->layout;
  check_request(request,
                {state_->model.vocab_size(), state_->model.max_positions(),
                 layout.slot_capacity_tokens});
  if (state_->holds(request.id))
    throw failure(errc::invalid_request,
                  "rollout request of group " + to_string(request.id)
                    + ": a group of this id has been submitted and not been "
                      "taken; take it first, or count up its attempt");
  auto group = std::make_unique<active_group>();
  group->serial = ++state_->num_submitted;
  group->num_unfinished = request.num_samples;
  group->samples.resize(static_cast<std::size_t>(request.num_samples));
  for (auto& sample : group->samples)
    sample.finish = finish_reason::aborted;
  group->request = std::move(request);
  state_->batch->scheduler.enqueue(*group);
  state_->groups.emplace(group->request.id, std::move(group));
}

abort_result rollout_engine::abort(const protocols::group_id& id) {
  const auto found = state_->groups.find(id);
  if (found == state_->groups.end())
    return abort_result::unknown;
  state_->abort(*found->second);
  return abort_result::aborted;
}

void rollout_engine::abort_all() {
  while (!state_->groups.empty())
    state_->abort(*state_->groups.begin()->second);
}

void rollout_engine::pause() {
  state_->paused = true;
}

void rollout_engine::resume() {
  state_->paused = false;
}

bool rollout_engine::is_paused() const {
  return state_->paused;
}

quantum_report
rollout_engine::decode_quantum(std::int64_t max_steps,
                               const std::atomic<std::uint32_t>& control) {
  state_->require_cache("decode_quantum");
  if (!state_->version)
    throw failure(errc::refused_by_state,
                  "rollout engine: decode_quantum before any weights were "
                  "announced; call on_weights_changed first");
  quantum_report report;
  const auto num_tokens_before = state_->statistics.num_generated_tokens;
  report.end = quantum_end::steps_done;
  if (state_->paused)
    report.end = quantum_end::paused;
  while (report.end == quantum_end::steps_done
         && report.num_steps < max_steps) {
    if (control.load(std::memory_order_acquire) != 0)
      report.end = quantum_end::interrupted;
    else if (!state_->step())
      report.end = quantum_end::idle;
    else
      ++report.num_steps;
  }
  if (report.end == quantum_end::steps_done && state_->groups.empty())
    report.end = quantum_end::idle;
  report.num_generated_tokens =
    state_->statistics.num_generated_tokens - num_tokens_before;
  report.num_finished_groups =
    static_cast<std::int64_t>(state_->finished.size());
  return report;
}

std::vector<experience::rollout_group> rollout_engine::take_finished() {
  return std::exchange(state_->finished, {});
}

std::int64_t rollout_engine::num_unfinished_samples() const {
  std::int64_t sum = 0;
  for (const auto& [id, group] : state_->groups)
    sum += group->num_unfinished;
  return sum;
}

const engine_statistics& rollout_engine::statistics() const {
  return state_->statistics;
}

} // namespace troupe::runtime::rollout
