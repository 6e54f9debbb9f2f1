// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/address_space.hpp"

#include "protocols/failure.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <thread>

namespace troupe::runtime::process {

std::optional<std::uint64_t> address_space_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return limit.rlim_cur;
}

std::uint64_t address_space_floor(unsigned num_cores) {
  // With 2 cores, a job of 0.1 million parameters ran with 1000000 KiB and
  // failed with 800000 KiB.
  constexpr std::uint64_t mib = 1U << 20, code = 1024 * mib;
  constexpr std::uint64_t stack = 8 * mib, arena = 64 * mib;
  return code + 2 * std::max(num_cores, 1U) * (stack + arena);
}

void check_address_space() {
  const auto limit = address_space_limit();
  const auto floor = address_space_floor(std::thread::hardware_concurrency());
  if (limit && *limit < floor)
    throw protocols::failure{
      protocols::errc::capacity_exceeded,
      "the address space of a process is limited to "
        + std::to_string(*limit >> 10) + " KiB (ulimit -v); a job needs "
        + std::to_string(floor >> 10)
        + " KiB on this machine, and what the model takes: raise the limit, "
          "or lift it by `ulimit -v unlimited`"};
}

} // namespace troupe::runtime::process
