// SPDX-License-Identifier: Apache-2.0
//
// The limit of a process's address space (ulimit -v). Below what threads and
// libraries take, processes do not fail in order: a library that can't start a
// thread ends or blocks its process. So it is looked at before any starts.
#pragma once

#include <cstdint>
#include <optional>

namespace troupe::runtime::process {

/// Returns the bytes that the soft limit allows, nothing without one.
std::optional<std::uint64_t> address_space_limit();

/// Returns the bytes that the largest of a job's processes maps with a model of
/// no size: code, and a stack and an allocator's arena for each thread, of
/// which there are about two a core.
std::uint64_t address_space_floor(unsigned num_cores);

/// Errors: capacity_exceeded, with both numbers, if the limit is below the
/// floor.
void check_address_space();

} // namespace troupe::runtime::process
