// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/work_queue.hpp"

#include "protocols/failure.hpp"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace troupe::runtime::process {

struct work_queue::state {
  std::string name;
  std::size_t max_pending = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> pending;
  bool is_closed = false, is_done = false;
  std::thread thread;

  void run() {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    std::unique_lock lock{mutex};
    for (;;) {
      changed.wait(lock, [this] { return is_closed || !pending.empty(); });
      if (pending.empty())
        break;
      auto work = std::move(pending.front());
      pending.pop_front();
      lock.unlock();
      work();
      work = nullptr; // what it captured goes before the next one runs
      lock.lock();
    }
    is_done = true;
    changed.notify_all();
  }
};

work_queue::work_queue(std::string name, std::size_t max_pending)
  : state_(std::make_shared<state>()) {
  state_->name = std::move(name);
  state_->max_pending = max_pending;
  state_->thread = std::thread{[s = state_] { s->run(); }};
}

work_queue::~work_queue() {
  {
    std::lock_guard lock{state_->mutex};
    state_->is_closed = true;
  }
  state_->changed.notify_all();
  if (state_->thread.get_id() == std::this_thread::get_id())
    state_->thread.detach(); // the last owner was a closure
  else if (state_->thread.joinable())
    state_->thread.join();
}

void work_queue::post(std::function<void()> work) {
  {
    std::lock_guard lock{state_->mutex};
    if (state_->is_closed)
      throw protocols::failure(protocols::errc::shutting_down,
                               state_->name + " is closed: no further work");
    if (state_->pending.size() >= state_->max_pending)
      throw protocols::failure(
        protocols::errc::capacity_exceeded,
        state_->name + ": " + std::to_string(state_->pending.size())
          + " closures wait, allowed: " + std::to_string(state_->max_pending));
    state_->pending.push_back(std::move(work));
  }
  state_->changed.notify_all();
}

bool work_queue::close(std::chrono::milliseconds deadline) {
  std::unique_lock lock{state_->mutex};
  state_->is_closed = true;
  state_->changed.notify_all();
  return state_->changed.wait_for(lock, deadline,
                                  [this] { return state_->is_done; });
}

} // namespace troupe::runtime::process
