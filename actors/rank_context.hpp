// SPDX-License-Identifier: Apache-2.0
//
// What the actors of one rank share. The model belongs to the compute queue:
// actors hand it to closures, and touch nothing of it themselves.
#pragma once

#include "actors/process_context.hpp"
#include "kernels/thread_pool.hpp"
#include "runtime/config/job_config.hpp"
#include "runtime/experience/group_store.hpp"
#include "runtime/process/unit_gate.hpp"
#include "runtime/process/work_queue.hpp"
#include "runtime/train/rank_model.hpp"
#include "runtime/transport/frame_endpoint.hpp"

#include <atomic>
#include <memory>

namespace troupe::actors {

struct rank_context {
  process_context& process;
  runtime::config::job_config config;
  runtime::train::model_use use = runtime::train::model_use::train;
  kernels::thread_pool& pool;
  runtime::process::work_queue& compute; ///< the only thread with ATen calls
  runtime::process::work_queue& files;
  runtime::transport::frame_endpoint& data_plane; ///< to the host's agent
  runtime::experience::group_store& store;
  runtime::process::unit_gate gate;
  /// Not 0: a running quantum ends after its step (DESIGN section 2).
  std::atomic<std::uint32_t> control{0};
  std::unique_ptr<runtime::train::rank_model> model;
};

} // namespace troupe::actors
