// SPDX-License-Identifier: Apache-2.0
//
// The group store: the columns of the rollout groups that this process made,
// addressed by (group id, epoch), within a byte budget.
#pragma once

#include "runtime/experience/rollout_group.hpp"

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace troupe::runtime::experience {

/// Thread: any. Invariants:
/// GS-1 (columns never change): a group that was put is constant.
/// GS-2 (bytes tell the truth): bytes() counts what is stored and what is
///   dropped but still leased, and never passes the budget.
class group_store {
public:
  explicit group_store(std::size_t max_bytes);

  /// Errors: memory_refused naming the largest holders; invalid_request for an
  /// id that is here already. The store is then unchanged.
  void put(rollout_group group);

  /// Errors: epoch_stale when the group belongs to another epoch,
  /// invalid_request when there is none of that id.
  [[nodiscard]] std::shared_ptr<const rollout_group>
  lease(const protocols::group_id& id, protocols::job_epoch epoch) const;

  /// Forgets a group; leases stay valid. Unknown ids are ignored: a drop may
  /// be repeated.
  void drop(const protocols::group_id& id);

  /// Returns the bytes of all columns that are alive.
  [[nodiscard]] std::size_t bytes() const;

  [[nodiscard]] std::size_t num_groups() const;

private:
  std::string name_holders() const;

  std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::map<protocols::group_id, std::shared_ptr<const rollout_group>> groups_;
  std::shared_ptr<std::atomic<std::size_t>> bytes_;
};

} // namespace troupe::runtime::experience
