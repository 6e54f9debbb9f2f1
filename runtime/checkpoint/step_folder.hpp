// SPDX-License-Identifier: Apache-2.0
//
// The folders `step-N` and `step-N.partial`: their names, their lock file, and
// their removal. manifest.hpp says what they hold.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::runtime::checkpoint {

struct step_folder {
  std::int64_t step = 0;
  bool is_partial = false;
  std::filesystem::path path;
};

constexpr const char* lock_name = "writer.lock";

std::string step_folder_name(std::int64_t step);

/// Reads the last part of a path; nothing if it is neither of the two.
std::optional<step_folder> parse_step_folder(const std::filesystem::path& path);

/// Returns those of a directory, in no order; a missing one has none.
/// Errors: io_failed.
std::vector<step_folder>
list_step_folders(const std::filesystem::path& directory);

/// True if a living process holds the lock file of a partial folder.
bool has_live_writer(const std::filesystem::path& partial);

/// Removes a folder such that no half of it is ever taken for a sealed
/// checkpoint: a sealed one becomes partial first. Errors: io_failed.
void remove_step_folder(const std::filesystem::path& path);

} // namespace troupe::runtime::checkpoint
