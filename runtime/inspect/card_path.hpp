// SPDX-License-Identifier: Apache-2.0
//
// Where the files of a process lie in a run directory.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::runtime::inspect {

/// Returns the process's name as a file name: '/' becomes '-'.
inline std::string file_name_of(std::string_view process) {
  std::string name{process};
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

inline std::filesystem::path card_path(const std::filesystem::path& run_dir,
                                       std::string_view process) {
  return run_dir / "cards" / file_name_of(process);
}

} // namespace troupe::runtime::inspect
