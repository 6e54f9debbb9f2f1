// SPDX-License-Identifier: Apache-2.0
//
// One thread that runs closures in order: a rank's compute queue (the only
// thread that calls ATen), or a process's file queue. Not a pool, and no
// results: a closure says itself where its result goes.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace troupe::runtime::process {

class work_queue {
public:
  /// `max_pending`: closures that may wait.
  work_queue(std::string name, std::size_t max_pending);

  /// Runs what is pending, then ends the thread.
  ~work_queue();
  work_queue(const work_queue&) = delete;
  work_queue& operator=(const work_queue&) = delete;

  /// Thread: any; never blocks. Errors: capacity_exceeded when max_pending
  /// closures wait, shutting_down after close.
  void post(std::function<void()> work);

  /// Refuses further work and waits until what is pending is done. Returns
  /// false if the deadline came first. Safe to repeat.
  bool close(std::chrono::milliseconds deadline);

private:
  struct state;
  std::shared_ptr<state> state_;
};

} // namespace troupe::runtime::process
