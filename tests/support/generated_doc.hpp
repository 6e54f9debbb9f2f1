// SPDX-License-Identifier: Apache-2.0
//
// Documents that end in a part made from a table. After a change of the table
// the failing test leaves the new part in the folder it ran in.
#pragma once

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

/// Returns `part`, and leaves it in a file beside the test.
inline std::string expected_part(const std::string& name,
                                 const std::string& part) {
  std::ofstream{"expected_" + name} << part;
  return part;
}

} // namespace troupe::tests
