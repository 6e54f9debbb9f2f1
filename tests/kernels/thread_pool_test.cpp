// SPDX-License-Identifier: Apache-2.0
#include "kernels/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/doctest.hpp"

namespace troupe::kernels {

TEST_CASE("parallel_for covers each index once, in multiples of the grain") {
  for (const int num_threads : {1, 2, 3, 5}) {
    thread_pool pool(num_threads);
    CHECK(pool.num_threads() == num_threads);
    for (const std::int64_t n : {0, 1, 2, 7, 64, 65, 1000}) {
      for (const std::int64_t grain : {1, 4, 16}) {
        std::vector<std::atomic<int>> counts(static_cast<std::size_t>(n));
        std::atomic<int> num_ranges{0};
        std::atomic<bool> is_aligned{true};
        pool.parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
          ++num_ranges;
          if (begin % grain != 0 || (end % grain != 0 && end != n))
            is_aligned = false;
          for (std::int64_t i = begin; i < end; ++i)
            ++counts[static_cast<std::size_t>(i)];
        });
        CHECK(num_ranges <= num_threads);
        CHECK(is_aligned);
        for (const auto& count : counts)
          CHECK(count == 1);
      }
    }
  }
}

TEST_CASE("the ranges run on different threads, the first on the caller's") {
  thread_pool pool(3);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::thread::id first;
  pool.parallel_for(3, 1, [&](std::int64_t begin, std::int64_t) {
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
    if (begin == 0)
      first = std::this_thread::get_id();
  });
  CHECK(ids.size() == 3);
  CHECK(first == std::this_thread::get_id());
}

TEST_CASE("workers wake from sleep and survive many calls") {
  thread_pool pool(4);
  std::atomic<std::int64_t> total{0};
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    total += end - begin;
  };
  for (int i = 0; i < 5000; ++i)
    pool.parallel_for(8, 1, add);
  CHECK(total == 40000);
}

TEST_CASE("a pool that is never used ends at once") {
  const auto begin = std::chrono::steady_clock::now();
  { const thread_pool pool(8); }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

} // namespace troupe::kernels
