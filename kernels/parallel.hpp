// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"

#include <cstdint>
#include <functional>

namespace troupe::kernels {

/// Below this much work (about one float operation a unit) a call stays on the
/// calling thread: docs/kernels.md has the measurement.
constexpr std::int64_t min_parallel_work = 400'000;

/// parallel_for without an allocation, and inline if `work` is small.
template <class Function>
void in_parallel(thread_pool& pool, std::int64_t n, std::int64_t grain,
                 std::int64_t work, const Function& f) {
  if (n <= 0)
    return;
  if (work < min_parallel_work)
    f(std::int64_t{0}, n);
  else
    pool.parallel_for(n, grain, std::cref(f));
}

} // namespace troupe::kernels
