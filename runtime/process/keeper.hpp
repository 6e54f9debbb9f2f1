// SPDX-License-Identifier: Apache-2.0
//
// The keeper of a worker: a small process between the launcher and a user's
// function, so that nothing the function starts outlives it.
#pragma once

#include <string>
#include <vector>

namespace troupe::runtime::process {

/// Descriptors of a worker, passed through by its keeper.
constexpr int worker_frame_fd = 3;  ///< stream socket to the worker pool
constexpr int worker_script_fd = 4; ///< memfd with python_worker.py

/// Runs argv as a worker in a session of its own. On SIGTERM of the launcher
/// (of anybody, when none started this process), or when the worker ends, kills
/// and reaps all that lives below, then returns the worker's exit code (128 +
/// signal when killed). Errors: io_failed when the worker cannot be started.
/// Thread: the only one of the process. `deadline_scale`: limits.deadline_scale
/// of the job.
int run_keeper(const std::vector<std::string>& argv, double deadline_scale);

} // namespace troupe::runtime::process
