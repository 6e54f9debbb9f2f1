// SPDX-License-Identifier: Apache-2.0
//
// n workers that grade completions with a user's Python function. Each is a
// process below a keeper. A worker that does not answer in time, or dies, is
// killed and replaced; that costs the samples of its call and nothing else.
#pragma once

#include "protocols/failure.hpp"
#include "runtime/config/deadlines.hpp"
#include "runtime/process/launcher_client.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::runtime::process {

/// How a pool gets its processes.
struct worker_starter {
  /// Starts request.argv; throws failure. May block for a second.
  std::function<void(const spawn_request& request)> start;
  /// Ends the named worker and all below it; returns at once.
  std::function<void(const std::string& name)> kill;
};

/// Workers as children of the launcher.
worker_starter start_by_launcher(launcher_client& client,
                                 double deadline_scale);

struct worker_pool_options {
  std::string name = "worker"; ///< workers are NAME/0, NAME/1, ...
  int num_workers = 1;
  /// "file.py:function"; a path relative to the working directory.
  std::vector<std::string> functions;
  /// The keeper's command; deadline_scale and the worker's command follow.
  /// "/proc/self/exe" is the launcher's own binary.
  std::vector<std::string> keeper_argv{"/proc/self/exe", "keeper"};
  std::string python = "python3";
  double deadline_scale = 1.0;
  std::chrono::milliseconds start_deadline = ///< of all starts; with imports
    config::duration_of(config::deadline::worker_start);
  /// Starts in a row that may fail, and replacements in all, of one worker.
  int max_failed_starts = 3;
  int max_replacements = 1000;
};

/// Columns of one call; all of one length.
struct grade_request {
  std::string function; ///< one of options.functions
  std::vector<std::string> completions;
  /// Keyword arguments of the function: "answers", "prompts", ...
  std::map<std::string, std::vector<std::string>> columns;
};

/// Of one completion: a finite number, or why there is none.
struct grade_result {
  std::optional<double> reward;
  protocols::errc code = protocols::errc::none; ///< reward_failed, _timeout ...
  std::string error; ///< with the traceback, when the function raised
};

class worker_pool {
public:
  worker_pool(worker_pool_options options, worker_starter starter);

  /// Kills the workers. Calls that wait are answered with shutting_down.
  ~worker_pool();

  /// Waits until every worker has imported its functions. Errors:
  /// reward_failed with the traceback, deadline_exceeded.
  void wait_until_ready(std::chrono::milliseconds deadline);

  /// Calls `done` once, on a thread of the pool or the caller's: with nothing
  /// when every worker has imported its functions, else with what
  /// wait_until_ready() throws, or shutting_down.
  void when_ready(std::function<void(std::optional<protocols::failure>)> done);

  /// Grades the completions in one call of the function. `done` is called once,
  /// on a thread of the pool, with one result a completion. The timeout runs
  /// from the moment when a worker takes the call up. Errors: invalid_request
  /// for an unknown function or uneven columns (thrown).
  void grade(grade_request request, std::chrono::milliseconds timeout,
             std::function<void(std::vector<grade_result>)> done);

  /// Returns how many workers were replaced so far.
  [[nodiscard]] int num_replacements() const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace troupe::runtime::process
