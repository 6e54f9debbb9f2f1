// SPDX-License-Identifier: Apache-2.0
#include "runtime/rollout/slot_scheduler.hpp"

#include "protocols/failure.hpp"

#include <algorithm>
#include <utility>

namespace troupe::runtime::rollout {

using protocols::slot_machine;

namespace {

constexpr std::int64_t none = -1;

} // namespace

std::int64_t slot::num_tokens() const {
  return group->num_prompt_tokens()
         + static_cast<std::int64_t>(sample().completion_ids.size());
}

std::int32_t slot::token_id(std::int64_t position) const {
  const auto num_prompt = group->num_prompt_tokens();
  return position < num_prompt
           ? group->request.prompt_ids[static_cast<std::size_t>(position)]
           : sample()
               .completion_ids[static_cast<std::size_t>(position - num_prompt)];
}

void step_rows::clear() {
  for (auto* column : {&ids, &positions, &slots, &wanted})
    column->clear();
  for (auto* list : {&drawing, &keeping, &waiting})
    list->clear();
  num_prefill_rows = num_decode_rows = 0;
}

slot_scheduler::slot_scheduler(std::int64_t num_slots, prompt_sharing sharing,
                               slot_observer observer)
  : slots_(static_cast<std::size_t>(num_slots)), sharing_(sharing),
    observer_(std::move(observer)) {}

// -- queue --------------------------------------------------------------------

void slot_scheduler::enqueue(active_group& group) {
  for (std::int64_t i = 0; i < group.request.num_samples; ++i)
    queue_.push_back({&group, i});
}

void slot_scheduler::withdraw(const active_group& group) {
  std::erase_if(queue_, [&](const auto& q) { return q.group == &group; });
}

std::int64_t slot_scheduler::admit() {
  std::int64_t num_kept = 0;
  while (!queue_.empty()) {
    const auto next = queue_.front();
    const auto index = pick_free_slot(*next.group);
    if (index == none)
      break;
    queue_.pop_front();
    auto& s = slots_[static_cast<std::size_t>(index)];
    s.group = next.group;
    s.sample_index = next.sample_index;
    s.admission = num_admissions_++;
    if (sharing_ == prompt_sharing::off
        || s.cached_serial != next.group->serial)
      s.num_cached = 0;
    s.cached_serial = next.group->serial;
    num_kept += s.num_cached;
    apply(index, slot_machine::event::sample_admitted);
  }
  return num_kept;
}

/// The samples of a group are admitted one after another, so that the one
/// before has left its prompt in a slot: if that slot is free, it is taken.
std::int64_t slot_scheduler::pick_free_slot(const active_group& next) const {
  std::int64_t lowest = none;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].group != nullptr)
      continue;
    if (slots_[i].cached_serial == next.serial)
      return static_cast<std::int64_t>(i);
    if (lowest == none)
      lowest = static_cast<std::int64_t>(i);
  }
  return lowest;
}

// -- rows ---------------------------------------------------------------------

void slot_scheduler::plan(std::int64_t max_prefill_rows, step_rows& out) const {
  out.clear();
  std::vector<std::int64_t> prefilling;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto& s = slots_[i];
    if (s.state == slot_machine::state::prefilling) {
      prefilling.push_back(static_cast<std::int64_t>(i));
    } else if (s.state == slot_machine::state::decoding) {
      out.ids.push_back(s.sample().completion_ids.back());
      out.positions.push_back(static_cast<std::int32_t>(s.num_cached));
      out.slots.push_back(static_cast<std::int32_t>(i));
      out.wanted.push_back(static_cast<std::int32_t>(out.num_decode_rows++));
      out.drawing.push_back(static_cast<std::int64_t>(i));
    }
  }
  std::sort(prefilling.begin(), prefilling.end(), [&](auto a, auto b) {
    return slots_[static_cast<std::size_t>(a)].admission
           < slots_[static_cast<std::size_t>(b)].admission;
  });
  for (const auto index : prefilling) {
    const auto& s = slots_[static_cast<std::size_t>(index)];
    const auto num_missing = s.num_tokens() - s.num_cached;
    if (num_missing == 0 || waits_for_sibling(s))
      out.waiting.push_back(index);
    else if (out.num_prefill_rows < max_prefill_rows)
      plan_prefill(
        index, std::min(num_missing, max_prefill_rows - out.num_prefill_rows),
        out);
  }
  for (const auto index : out.keeping) {
    const auto at = std::find(out.slots.begin(), out.slots.end(),
                              static_cast<std::int32_t>(index))
                    - out.slots.begin();
    const auto& s = slots_[static_cast<std::size_t>(index)];
    out.wanted.push_back(static_cast<std::int32_t>(
      at + s.group->num_prompt_tokens() - 1 - s.num_cached));
  }
}

void slot_scheduler::plan_prefill(std::int64_t slot_index,
                                  std::int64_t num_rows, step_rows& out) const {
  const auto& s = slots_[static_cast<std::size_t>(slot_index)];
  const auto end = s.num_cached + num_rows;
  for (auto position = s.num_cached; position < end; ++position) {
    out.ids.push_back(s.token_id(position));
    out.positions.push_back(static_cast<std::int32_t>(position));
    out.slots.push_back(static_cast<std::int32_t>(slot_index));
  }
  out.num_prefill_rows += num_rows;
  const auto num_prompt = s.group->num_prompt_tokens();
  if (end == s.num_tokens()) {
    out.wanted.push_back(static_cast<std::int32_t>(out.ids.size() - 1));
    out.drawing.push_back(slot_index);
  }
  if (sharing_ == prompt_sharing::on && s.group->request.num_samples > 1
      && s.num_cached < num_prompt && num_prompt <= end)
    out.keeping.push_back(slot_index);
}

bool slot_scheduler::has_prompt(const slot& s,
                                const active_group& group) const {
  return s.cached_serial == group.serial
         && s.num_cached >= group.num_prompt_tokens();
}

/// True if a sibling that came earlier has the prompt's rows or is about to
/// compute them. (One that has left has handed them on: see pick_free_slot.)
bool slot_scheduler::waits_for_sibling(const slot& s) const {
  if (sharing_ == prompt_sharing::off || has_prompt(s, *s.group))
    return false;
  return std::any_of(slots_.begin(), slots_.end(), [&](const slot& other) {
    return other.group == s.group && other.admission < s.admission;
  });
}

void slot_scheduler::count_cached(const step_rows& rows) {
  for (const auto slot : rows.slots)
    ++slots_[static_cast<std::size_t>(slot)].num_cached;
}

std::int64_t slot_scheduler::share_prompts(const kv_cache_view& cache,
                                           step_rows& rows) {
  std::int64_t num_copied = 0;
  for (const auto index : rows.waiting) {
    auto& s = slots_[static_cast<std::size_t>(index)];
    if (!has_prompt(s, *s.group)) {
      const auto source =
        std::find_if(slots_.begin(), slots_.end(), [&](const slot& other) {
          return has_prompt(other, *s.group);
        });
      if (source == slots_.end())
        continue;
      s.num_cached = s.group->num_prompt_tokens();
      cache.copy_prefix(source - slots_.begin(), index, s.num_cached);
      num_copied += s.num_cached;
    }
    if (s.num_cached == s.num_tokens())
      rows.drawing.push_back(index);
  }
  return num_copied;
}

// -- moves --------------------------------------------------------------------

void slot_scheduler::go_on(std::int64_t slot_index) {
  apply(slot_index, slot_machine::event::token_sampled);
}

void slot_scheduler::finish(std::int64_t slot_index) {
  apply(slot_index, slot_machine::event::token_sampled,
        {.is_final_token = true});
  release(slot_index);
}

void slot_scheduler::abort(std::int64_t slot_index) {
  apply(slot_index, slot_machine::event::sample_aborted);
  release(slot_index);
}

void slot_scheduler::release(std::int64_t slot_index) {
  auto& s = slots_[static_cast<std::size_t>(slot_index)];
  s.num_cached = std::min(s.num_cached, s.group->num_prompt_tokens());
  s.group = nullptr;
  apply(slot_index, slot_machine::event::row_cleared);
}

std::int64_t slot_scheduler::drop_cached() {
  std::int64_t num_samples = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    auto& s = slots_[i];
    const bool is_taken = s.group != nullptr;
    num_samples += is_taken && s.num_cached > 0;
    s.num_cached = 0;
    if (is_taken)
      apply(static_cast<std::int64_t>(i), slot_machine::event::cache_dropped);
  }
  return num_samples;
}

std::int64_t slot_scheduler::num_cached_tokens() const {
  std::int64_t sum = 0;
  for (const auto& s : slots_)
    sum += s.group != nullptr ? s.num_cached : 0;
  return sum;
}

void slot_scheduler::apply(std::int64_t slot_index, slot_machine::event event,
                           const slot_machine::data& data) {
  auto& s = slots_[static_cast<std::size_t>(slot_index)];
  const auto from = s.state;
  const auto outcome = protocols::step<slot_machine>(from, data, event);
  TROUPE_ASSERT(outcome.what == protocols::verdict::move,
                "RB-4 (slots follow their table): not a move");
  s.state = outcome.taken->to;
  if (observer_ && s.state != from)
    observer_(slot_index, from, event, s.state);
}

} // namespace troupe::runtime::rollout
