// SPDX-License-Identifier: Apache-2.0
//
// Failures on their way between actors: the one place that knows how a
// caf::error carries one.
#pragma once

#include "protocols/failure.hpp"
#include "protocols/messages.hpp"

#include <caf/error.hpp>

#include <cstddef>
#include <string_view>

namespace troupe::actors {

/// A failure fits into any message: what is longer is cut, and says so. A
/// traceback of Python's with 50 frames takes 6 KiB.
constexpr std::size_t max_failure_bytes = 16u << 10;

protocols::failed to_message(const protocols::failure& what);
protocols::failure to_failure(const protocols::failed& message);

caf::error to_error(const protocols::failure& what,
                    const protocols::envelope& around = {});

/// Returns the failure, or one for an error of CAF itself; `asked` says who was
/// asked for what, for time-outs and losses.
protocols::failure to_failure(const caf::error& e, std::string_view asked);

/// Returns the envelope of a failure that was sent; empty for CAF's own errors.
protocols::envelope envelope_of(const caf::error& e);

/// Returns the failure behind an exception of any kind.
protocols::failure to_failure(const std::exception& e);

} // namespace troupe::actors
