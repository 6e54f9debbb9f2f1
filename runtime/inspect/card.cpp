// SPDX-License-Identifier: Apache-2.0
//
// The handle on a card; its class is in card_file.hpp.
#include "runtime/inspect/card_slot.hpp"

#include <string>

namespace troupe::runtime::inspect {

void card::set_state(std::string_view machine, std::string_view state) const {
  if (!slot_)
    return;
  slot_->edit([&](layout::card_data& data) {
    for (auto& entry : data.states) {
      if (entry.machine.view().empty())
        entry.machine = machine;
      if (entry.machine.view()
          == machine.substr(0, entry.machine.bytes.size())) {
        // A move that ends where it began is no new stay.
        if (entry.state.view() != state)
          entry.since_mono_ns = mono_now_ns();
        entry.state = state;
        return;
      }
    }
    ++data.failures;
    data.last_error =
      "card: no place for the state of machine " + std::string{machine};
  });
}

void card::count_in() const {
  if (!slot_)
    return;
  auto& block = *slot_->block;
  const auto in = block.in_total.fetch_add(1, std::memory_order_relaxed) + 1;
  const auto taken = block.taken_total.load(std::memory_order_relaxed);
  const auto depth = in > taken ? in - taken : 0;
  auto max = block.mailbox_max.load(std::memory_order_relaxed);
  while (depth > max
         && !block.mailbox_max.compare_exchange_weak(
           max, depth, std::memory_order_relaxed)) {
  }
}

void card::count_out() const {
  if (slot_)
    slot_->block->out_total.fetch_add(1, std::memory_order_relaxed);
}

void card::count_taken() const {
  if (slot_)
    slot_->block->taken_total.fetch_add(1, std::memory_order_relaxed);
}

void card::count_put_back() const {
  if (slot_)
    slot_->block->taken_total.fetch_sub(1, std::memory_order_relaxed);
}

void card::begin_handler(std::string_view message) const {
  if (!slot_)
    return;
  slot_->publish_activity(message);
}

void card::end_handler() const {
  if (slot_)
    slot_->publish_activity({});
}

void card::set_error(std::string_view text) const {
  if (!slot_)
    return;
  slot_->edit([&](layout::card_data& data) {
    ++data.failures;
    data.last_error = text;
  });
}

void card::set_progress(std::optional<std::uint64_t> step,
                        std::optional<std::uint64_t> policy_version) const {
  if (!slot_)
    return;
  slot_->edit([&](layout::card_data& data) {
    data.step = step.value_or(layout::absent);
    data.policy_version = policy_version.value_or(layout::absent);
  });
}

void card::event(const card_event& entry) const {
  if (!slot_)
    return;
  layout::event_data data{};
  data.mono_ns = mono_now_ns();
  data.machine = entry.machine;
  data.from = entry.from;
  data.to = entry.to;
  data.event = entry.event;
  data.what = entry.text;
  const std::lock_guard lock{slot_->writing};
  if (!slot_->is_closed)
    layout::append(*slot_->block, data);
}

void card::close(std::string_view reason) const {
  if (!slot_)
    return;
  slot_->publish_activity({});
  slot_->edit([&](layout::card_data& data) {
    data.ended = 1;
    data.ended_reason = reason;
    slot_->ended_mono_ns = mono_now_ns();
    slot_->is_closed = true;
  });
}

} // namespace troupe::runtime::inspect
