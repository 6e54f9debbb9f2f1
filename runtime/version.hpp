// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace troupe::runtime {

/// Returns Troupe's version, as in `troupe --version`.
std::string_view version();

} // namespace troupe::runtime
