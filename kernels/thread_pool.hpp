// SPDX-License-Identifier: Apache-2.0
//
// The threads that kernels share: a small pool beside the calling thread. A
// worker that runs out of work spins for at most 50 us and then sleeps, so that
// control actors are never starved (DESIGN section 2).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace troupe::kernels {

class thread_pool {
public:
  /// Starts num_threads - 1 workers; the caller is the remaining one.
  explicit thread_pool(int num_threads);
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  [[nodiscard]] int num_threads() const;

  /// Calls f(begin, end) on disjoint ranges that cover [0, n), at most one
  /// range a thread, and returns when all have returned. Ranges are multiples
  /// of `grain` but the last. What f computes must not depend on the split.
  /// Thread: one caller at a time. An exception of f ends the process.
  void parallel_for(std::int64_t n, std::int64_t grain,
                    const std::function<void(std::int64_t, std::int64_t)>& f);

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace troupe::kernels
