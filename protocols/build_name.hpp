// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace troupe::protocols {

/// Returns what two processes of a job must have in common: the version, and a
/// hash of the messages' declarations.
std::string_view build_name();

} // namespace troupe::protocols
