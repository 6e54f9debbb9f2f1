// SPDX-License-Identifier: Apache-2.0
#include "kernels/thread_pool.hpp"

namespace troupe::kernels {

struct thread_pool::state {
  int num_threads = 1;
};

thread_pool::thread_pool(int num_threads)
  : state_(std::make_unique<state>(state{num_threads})) {}

thread_pool::~thread_pool() = default;

int thread_pool::num_threads() const { return state_->num_threads; }

void thread_pool::parallel_for(
  std::int64_t n, std::int64_t,
  const std::function<void(std::int64_t, std::int64_t)>& f) {
  if (n > 0)
    f(0, n);
}

} // namespace troupe::kernels
