// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"

#include <cstdint>
#include <functional>

namespace troupe::kernels {

/// A call that takes less than this on one core stays on the calling thread: to
/// wake a worker and to wait for it takes some microseconds.
constexpr std::int64_t min_parallel_nanoseconds = 10'000;

/// parallel_for without an allocation, and inline if there is little work:
/// `nanoseconds` is a rough estimate for one core.
template <class Function>
void in_parallel(thread_pool& pool, std::int64_t n, std::int64_t grain,
                 std::int64_t nanoseconds, const Function& f) {
  if (n <= 0)
    return;
  if (nanoseconds < min_parallel_nanoseconds)
    f(std::int64_t{0}, n);
  else
    pool.parallel_for(n, grain, std::cref(f));
}

} // namespace troupe::kernels
