// SPDX-License-Identifier: Apache-2.0
//
// What the actors of the coordinator's process share.
#pragma once

#include "actors/process_context.hpp"
#include "actors/prompt_table.hpp"
#include "runtime/config/job_config.hpp"
#include "runtime/process/launcher_client.hpp"
#include "runtime/process/work_queue.hpp"
#include "runtime/transport/frame_endpoint.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::actors {

/// Decoded completions of the groups that live: made by the reward pool, read
/// for rollouts.jsonl, dropped with the group. Thread: any.
class completion_texts {
public:
  void put(const protocols::group_id& id, std::vector<std::string> texts) {
    const std::lock_guard lock{mutex_};
    texts_[id] = std::move(texts);
  }
  [[nodiscard]] std::vector<std::string>
  get(const protocols::group_id& id) const {
    const std::lock_guard lock{mutex_};
    const auto found = texts_.find(id);
    return found == texts_.end() ? std::vector<std::string>{} : found->second;
  }
  void drop(const protocols::group_id& id) {
    const std::lock_guard lock{mutex_};
    texts_.erase(id);
  }

private:
  mutable std::mutex mutex_;
  std::map<protocols::group_id, std::vector<std::string>> texts_;
};

struct control_context {
  process_context& process;
  const runtime::config::job_config& config;
  runtime::process::launcher_client& launcher;
  runtime::process::work_queue& files;
  prompt_table& prompts;
  completion_texts& texts;
  std::string mode; ///< what ranks are told: "train" or "generate"
  /// To rank-0; set by the host agent before the rank is started.
  std::shared_ptr<runtime::transport::frame_endpoint> data_plane;
};

} // namespace troupe::actors
