// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace troupe::runtime {

/// Returns what a JSON library's error says, without the library's own names:
/// "line 1, column 5: syntax error ...", "key 'step' not found".
std::string json_reason(const std::exception& error);

} // namespace troupe::runtime
