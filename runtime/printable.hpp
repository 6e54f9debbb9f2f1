// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace troupe::runtime {

/// Returns text for a terminal: what would steer it (control characters but
/// line feed and tab, bytes that are no UTF-8) is written as \xNN. Names of
/// files and keys, data and error texts of users' functions come through here.
std::string printable(std::string_view text);

} // namespace troupe::runtime
