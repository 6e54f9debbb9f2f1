// SPDX-License-Identifier: Apache-2.0
#include "runtime/experience/group_store.hpp"

#include "protocols/failure.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace troupe::runtime::experience {

namespace {

using protocols::errc;
using protocols::failure;

constexpr std::size_t num_named_holders = 3;

} // namespace

group_store::group_store(std::size_t max_bytes)
  : max_bytes_(max_bytes),
    bytes_(std::make_shared<std::atomic<std::size_t>>(0)) {}

void group_store::put(rollout_group group) {
  auto size = num_bytes(group);
  std::lock_guard guard{mutex_};
  if (groups_.contains(group.id))
    throw failure{errc::invalid_request,
                  "group " + to_string(group.id) + " is in the store already"};
  if (size > max_bytes_ || *bytes_ > max_bytes_ - size)
    throw failure{errc::memory_refused,
                  "group " + to_string(group.id) + " needs "
                    + std::to_string(size) + " bytes; of "
                    + std::to_string(max_bytes_) + " the store holds "
                    + std::to_string(*bytes_) + name_holders()};
  *bytes_ += size;
  auto id = group.id;
  // The bytes count until the last lease is gone, the store's own end included.
  groups_[id] = std::shared_ptr<const rollout_group>{
    new rollout_group{std::move(group)},
    [size, bytes = bytes_](const rollout_group* dead) {
      delete dead;
      *bytes -= size;
    }};
}

std::string group_store::name_holders() const {
  std::vector<std::pair<std::size_t, std::string>> holders;
  std::size_t stored = 0;
  for (const auto& [id, group] : groups_) {
    auto size = num_bytes(*group);
    stored += size;
    holders.emplace_back(size, "group " + to_string(id)
                                 + (group.use_count() > 1 ? " (leased)" : ""));
  }
  if (*bytes_ > stored)
    holders.emplace_back(*bytes_ - stored, "leases of dropped groups");
  std::sort(holders.rbegin(), holders.rend());
  std::string out;
  for (std::size_t i = 0; i < std::min(holders.size(), num_named_holders); ++i)
    out += (i == 0 ? ": " : ", ") + holders[i].second + " "
           + std::to_string(holders[i].first);
  if (holders.size() > num_named_holders)
    out += ", ...";
  return out;
}

std::shared_ptr<const rollout_group>
group_store::lease(const protocols::group_id& id,
                   protocols::job_epoch epoch) const {
  std::lock_guard guard{mutex_};
  auto found = groups_.find(id);
  if (found == groups_.end())
    throw failure{errc::invalid_request,
                  "group " + to_string(id) + " is not in the store"};
  if (found->second->epoch != epoch)
    throw failure{errc::epoch_stale, "group " + to_string(id) + " is of epoch "
                                       + std::to_string(found->second->epoch)
                                       + ", asked for "
                                       + std::to_string(epoch)};
  return found->second;
}

void group_store::drop(const protocols::group_id& id) {
  std::shared_ptr<const rollout_group> last; // freed after the lock
  std::lock_guard guard{mutex_};
  if (auto node = groups_.extract(id))
    last = std::move(node.mapped());
}

std::size_t group_store::bytes() const {
  return *bytes_;
}

std::size_t group_store::num_groups() const {
  std::lock_guard guard{mutex_};
  return groups_.size();
}

} // namespace troupe::runtime::experience
