// SPDX-License-Identifier: Apache-2.0
//
// The units of a rank and the gate before them (DESIGN section 2): a unit runs
// completely or not at all. Starting one is a compare-and-swap that fails once
// the gate is closed; closing returns the last started unit, from which the
// coordinator makes the fence. Checked in tests/checks/models/shutdown.pml.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace troupe::runtime::process {

/// Thread: start and complete by one thread, the rest by any.
class unit_gate {
public:
  /// Returns the new unit's index, from 1 on; nothing if the gate is closed.
  std::optional<std::uint64_t> start() noexcept {
    auto word = word_.load(std::memory_order_acquire);
    do {
      if (word & closed_bit)
        return std::nullopt;
    } while (
      !word_.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel));
    return word + 1;
  }

  void complete(std::uint64_t unit) noexcept {
    completed_.store(unit, std::memory_order_release);
  }

  /// Closes the gate and returns the last started unit. Safe to repeat.
  std::uint64_t close() noexcept {
    return word_.fetch_or(closed_bit, std::memory_order_acq_rel) & ~closed_bit;
  }

  [[nodiscard]] std::uint64_t last_completed() const noexcept {
    return completed_.load(std::memory_order_acquire);
  }

private:
  static constexpr std::uint64_t closed_bit = std::uint64_t{1} << 63;
  std::atomic<std::uint64_t> word_{0}, completed_{0};
};

/// A unit that is completed however its scope ends: what threw has run, too.
class unit_scope {
public:
  explicit unit_scope(unit_gate& gate) : gate_(gate), unit_(gate.start()) {}
  ~unit_scope() {
    if (unit_)
      gate_.complete(*unit_);
  }
  unit_scope(const unit_scope&) = delete;
  unit_scope& operator=(const unit_scope&) = delete;

  /// False if the gate was closed: nothing may run.
  explicit operator bool() const noexcept { return unit_.has_value(); }

private:
  unit_gate& gate_;
  std::optional<std::uint64_t> unit_;
};

} // namespace troupe::runtime::process
