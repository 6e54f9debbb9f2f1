// SPDX-License-Identifier: Apache-2.0
//
// Between the loop's thread, which waits, and actors, which never do: what the
// coordinator tells the loop besides replies.
#pragma once

#include "protocols/failure.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace troupe::actors {

/// Shared by all who wait or tell: a late answer finds it there. Thread: any.
class job_link {
public:
  /// The first Ctrl-C: the loop ends its step, saves and returns.
  void request_stop() {
    const std::lock_guard lock{mutex_};
    is_stopping_ = true;
  }

  [[nodiscard]] bool is_stopping() const {
    const std::lock_guard lock{mutex_};
    return is_stopping_;
  }

  /// The job has failed or is aborted: every wait of the loop ends with it. The
  /// first failure counts.
  void end(const protocols::failure& why) {
    const std::lock_guard lock{mutex_};
    if (!ended_)
      ended_ = why;
    changed_.notify_all();
  }

  [[nodiscard]] std::optional<protocols::failure> ended() const {
    const std::lock_guard lock{mutex_};
    return ended_;
  }

  /// Waits until `is_done()` (called with the lock held), the end of the job,
  /// or the deadline. Returns true for the first.
  template <class Predicate, class TimePoint>
  bool wait_until(TimePoint deadline, Predicate is_done) {
    std::unique_lock lock{mutex_};
    changed_.wait_until(lock, deadline,
                        [&] { return is_done() || ended_.has_value(); });
    return is_done();
  }

  /// Changes what a waiter's predicate reads.
  template <class F>
  void update(F f) {
    {
      const std::lock_guard lock{mutex_};
      f();
    }
    changed_.notify_all();
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopping_ = false;
  std::optional<protocols::failure> ended_;
};

} // namespace troupe::actors
