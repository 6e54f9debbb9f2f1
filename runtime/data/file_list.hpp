// SPDX-License-Identifier: Apache-2.0
//
// Which files a value of data.*.file means.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace troupe::runtime::data {

/// Returns the files in order. A folder means its files NAME.jsonl, .ndjson or
/// .json, also with .gz or .zst behind, by name; a pattern with *, ? or [...]
/// what it matches, by name, unless a file is called so.
/// Errors: data_unreadable (nothing there, with what is), unsupported (a folder
/// of Parquet).
std::vector<std::string> files_of(std::span<const std::string> paths);

} // namespace troupe::runtime::data
