// SPDX-License-Identifier: Apache-2.0
#include "kernels/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace troupe::kernels {

namespace {

constexpr std::chrono::microseconds max_spin{50};

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until value differs from old: spins, then sleeps on a futex.
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  const auto end = std::chrono::steady_clock::now() + max_spin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (value.load(std::memory_order_acquire) != old)
        return;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  while (value.load(std::memory_order_acquire) == old)
    value.wait(old, std::memory_order_acquire);
}

} // namespace

struct thread_pool::state {
  // One call: written by the caller before it raises `call`.
  std::int64_t n = 0, grain = 1, num_units = 0;
  int num_ranges = 1;
  const std::function<void(std::int64_t, std::int64_t)>* f = nullptr;
  bool is_stopping = false;

  alignas(64) std::atomic<std::uint32_t> call{0};
  alignas(64) std::atomic<std::uint32_t> num_running{0};
  std::vector<std::thread> workers;

  void run_range(int index) const {
    const std::int64_t begin = num_units * index / num_ranges * grain;
    const std::int64_t end =
      std::min(n, num_units * (index + 1) / num_ranges * grain);
    (*f)(begin, end);
  }

  void work(int index) noexcept {
    for (std::uint32_t seen = 0;; ++seen) {
      wait_while(call, seen);
      if (is_stopping)
        return;
      if (index < num_ranges)
        run_range(index);
      if (num_running.fetch_sub(1, std::memory_order_acq_rel) == 1)
        num_running.notify_one();
    }
  }
};

thread_pool::thread_pool(int num_threads) : state_(std::make_unique<state>()) {
  state_->workers.reserve(static_cast<std::size_t>(std::max(num_threads, 1)));
  for (int i = 1; i < num_threads; ++i)
    state_->workers.emplace_back([s = state_.get(), i] { s->work(i); });
}

thread_pool::~thread_pool() {
  state_->is_stopping = true;
  state_->call.fetch_add(1, std::memory_order_release);
  state_->call.notify_all();
  for (auto& worker : state_->workers)
    worker.join();
}

int thread_pool::num_threads() const {
  return static_cast<int>(state_->workers.size()) + 1;
}

void thread_pool::parallel_for(
  std::int64_t n, std::int64_t grain,
  const std::function<void(std::int64_t, std::int64_t)>& f) {
  state& s = *state_;
  if (n <= 0)
    return;
  const std::int64_t num_units = (n + grain - 1) / grain;
  if (s.workers.empty() || num_units == 1) {
    [&]() noexcept { f(0, n); }();
    return;
  }
  s.n = n;
  s.grain = grain;
  s.num_units = num_units;
  s.num_ranges =
    static_cast<int>(std::min<std::int64_t>(num_threads(), num_units));
  s.f = &f;
  s.num_running.store(static_cast<std::uint32_t>(s.workers.size()),
                      std::memory_order_relaxed);
  s.call.fetch_add(1, std::memory_order_release);
  s.call.notify_all();
  [&]() noexcept { s.run_range(0); }();
  for (;;) {
    const auto left = s.num_running.load(std::memory_order_acquire);
    if (left == 0)
      return;
    wait_while(s.num_running, left);
  }
}

} // namespace troupe::kernels
