// SPDX-License-Identifier: Apache-2.0
//
// Documents that end in a part made from a table. After a change of the table
// the failing test leaves the new part in the folder for temporary files.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace troupe::tests {

inline constexpr const char* generated_marker =
  "<!-- The rest is made from the table in the source; a test checks it. "
  "-->\n";

/// Returns what follows the marker; "" without file or marker.
inline std::string generated_part(const std::string& file) {
  std::ifstream in{file};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  const auto at = text.find(generated_marker);
  return at == std::string::npos
           ? std::string{}
           : text.substr(at + std::string{generated_marker}.size());
}

/// True if `file` ends in `part`; if not, says in `advice` where that lies now.
inline bool has_generated_part(const std::string& file, const std::string& part,
                               std::string& advice) {
  if (generated_part(file) == part)
    return true;
  const auto expected =
    std::filesystem::temp_directory_path()
    / ("expected_" + std::filesystem::path{file}.filename().string());
  std::ofstream{expected} << part;
  advice = file + ": its generated part must be that of " + expected.string();
  return false;
}

} // namespace troupe::tests
