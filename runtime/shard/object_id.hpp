// SPDX-License-Identifier: Apache-2.0
//
// The identity of a module or parameter object in this process: a number that
// only rises and is never given twice, so that a dead object's name can't be
// found under a recycled address (W3). Not a module id: those are dense and
// private to an engine (M2).
#pragma once

#include <cstdint>

namespace troupe::runtime::shard {

enum class object_id : std::uint64_t {};

/// Thread: any.
object_id next_object_id();

} // namespace troupe::runtime::shard
