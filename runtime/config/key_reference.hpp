// SPDX-License-Identifier: Apache-2.0
//
// The generated part of docs/configuration.md.
#pragma once

#include <string>

namespace troupe::runtime::config {

/// Returns Markdown: a table of keys for each block, and the deadlines.
std::string render_key_reference();

} // namespace troupe::runtime::config
