// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's process: started by the launcher with a run directory that
// holds resolved.yaml and what to do.
#pragma once

#include <filesystem>
#include <string>

namespace troupe::actors {

enum class coordinator_task : std::uint8_t { run, generate, evaluate };

struct coordinator_options {
  std::filesystem::path run_directory;
  coordinator_task task = coordinator_task::run;
  bool is_resuming = false;
};

/// Returns the exit code, which the launcher has been told.
int run_coordinator(const coordinator_options& options);

} // namespace troupe::actors
