// SPDX-License-Identifier: Apache-2.0
//
// The place of one card, between its handles and its file. For card.cpp and
// card_file.cpp only.
#pragma once

#include "runtime/inspect/card_file.hpp"
#include "runtime/inspect/card_layout.hpp"
#include "runtime/inspect/mapping.hpp"
#include "runtime/inspect/process_identity.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

namespace troupe::runtime::inspect {

/// What the handles on a card share. `data` is the writers' own copy, so that
/// they never read the file.
struct card::slot {
  std::shared_ptr<mapping> keeps_mapped;
  layout::card_block* block = nullptr;
  std::mutex writing;
  bool is_closed = false; ///< the place may be another actor's by now
  layout::card_data data{};
  std::int64_t ended_mono_ns = 0;

  template <class F>
  void edit(F change) {
    const std::lock_guard lock{writing};
    if (is_closed)
      return;
    change(data);
    block->card.publish(data);
  }

  void publish_activity(std::string_view handler) {
    layout::activity_data activity{};
    activity.handler = handler;
    activity.since_mono_ns = mono_now_ns();
    const std::lock_guard lock{writing};
    if (!is_closed)
      block->activity.publish(activity);
  }
};

} // namespace troupe::runtime::inspect
