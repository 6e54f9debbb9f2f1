// SPDX-License-Identifier: Apache-2.0
//
// Writing files so that a crash leaves the old or the new content, and cutting
// files of JSON records back to a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace troupe::runtime::outputs {

/// Writes `content` beside `path`, syncs it, renames it over `path` and syncs
/// the folder. Errors: io_failed with path and errno; the old file stays.
void replace_file(const std::filesystem::path& path, std::string_view content);

/// Cuts a file of records, one JSON object with a "step" a line and steps not
/// falling, after the last whole record with step <= `last_step`. A torn last
/// line goes, too. Returns the number of records left; 0 if there is no file.
/// Errors: checkpoint_corrupt (file:line) for a line in the middle that is no
/// record, io_failed.
std::int64_t truncate_records(const std::filesystem::path& path,
                              std::int64_t last_step);

} // namespace troupe::runtime::outputs
