// SPDX-License-Identifier: Apache-2.0
#include "runtime/rollout/rollout_engine.hpp"

#include "protocols/failure.hpp"
#include "runtime/rollout/decode_batch.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace troupe::runtime::rollout {

using experience::finish_reason;
using protocols::errc;
using protocols::failure;

struct rollout_engine::state {
  state(const engine_settings& s, rollout_model& m, kernels::thread_pool& p,
        slot_observer o)
    : settings(s), model(m), pool(p), observer(std::move(o)) {}

  engine_settings settings;
  rollout_model& model;
  kernels::thread_pool& pool;
  slot_observer observer;
  std::optional<protocols::policy_version> version;
  std::optional<decode_batch> batch;  ///< from the first cache on
  std::optional<kv_cache_view> cache; ///< while it is leased
  std::map<protocols::group_id, std::unique_ptr<active_group>> groups;
  std::vector<experience::rollout_group> finished;
  std::uint64_t num_submitted = 0;
  bool paused = false;
  engine_statistics statistics;

  bool step();
  void accept(std::int64_t slot_index, const kernels::sampled_token& token);
  void finish_sample(active_group& group, experience::sample& sample,
                     finish_reason reason);
  void finish_group(active_group& group);
  void abort(active_group& group);
  [[nodiscard]] bool holds(const protocols::group_id& id) const;
  void require_cache(const char* call) const;
};

// -- groups -------------------------------------------------------------------

/// Returns false if there was nothing to do.
bool rollout_engine::state::step() {
  if (!batch->step(*cache, statistics))
    return false;
  for (std::size_t i = 0; i < batch->drawing().size(); ++i)
    accept(batch->drawing()[i], batch->tokens()[i]);
  return true;
}

void rollout_engine::state::accept(std::int64_t slot_index,
                                   const kernels::sampled_token& token) {
  const auto& s = batch->slot_at(slot_index);
  auto& group = *s.group;
  auto& sample = s.sample();
  if (std::isnan(token.logprob) || std::isnan(token.filtered_logprob))
    throw failure(errc::nonfinite_logits,
                  "group " + to_string(group.request.id) + ", sample "
                    + std::to_string(&sample - group.samples.data())
                    + ", completion token "
                    + std::to_string(sample.completion_ids.size())
                    + ": the model gives no finite logits; version "
                    + std::to_string(*version)
                    + " of the weights, or the model's files, hold NaN or "
                      "infinity");
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
    batch->scheduler().go_on(slot_index);
    return;
  }
  batch->scheduler().finish(slot_index);
  finish_sample(group, sample,
                stops ? finish_reason::stop_token : finish_reason::budget);
}

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
  auto& scheduler = batch->scheduler();
  scheduler.withdraw(group);
  for (std::size_t i = 0; i < scheduler.slots().size(); ++i)
    if (scheduler.slots()[i].group == &group)
      scheduler.abort(static_cast<std::int64_t>(i));
  // Unfinished samples have said `aborted` from the start.
  for (auto& sample : group.samples)
    if (sample.completion_ids.empty())
      sample.min_policy_version = sample.max_policy_version =
        version.value_or(0);
  finish_group(group);
}

bool rollout_engine::state::holds(const protocols::group_id& id) const {
  return groups.contains(id)
         || std::any_of(finished.begin(), finished.end(),
                        [&](const auto& g) { return g.id == id; });
}

void rollout_engine::state::require_cache(const char* call) const {
  if (!cache)
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
  if (state_->cache)
    throw failure(errc::refused_by_state,
                  "rollout engine: a KV cache is attached already; "
                  "detach it first");
  if (batch && batch->layout() == cache.layout) {
    state_->cache = cache;
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
  batch.emplace(cache.layout, state_->model, state_->pool, state_->settings,
                state_->observer);
  state_->cache = cache;
}

bool rollout_engine::has_cache() const {
  return state_->cache.has_value();
}

void rollout_engine::detach_cache() {
  state_->require_cache("detach_cache");
  state_->statistics.num_recomputed_samples +=
    state_->batch->scheduler().drop_cached();
  state_->cache.reset();
}

void rollout_engine::on_weights_changed(protocols::policy_version version) {
  if (state_->batch)
    state_->statistics.num_recomputed_samples +=
      state_->batch->scheduler().drop_cached();
  state_->version = version;
}

void rollout_engine::submit(rollout_request request) {
  state_->require_cache("submit");
  const auto& layout = state_->cache->layout;
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
  state_->batch->scheduler().enqueue(*group);
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
