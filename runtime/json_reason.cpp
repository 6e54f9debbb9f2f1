// SPDX-License-Identifier: Apache-2.0
#include "runtime/json_reason.hpp"

#include <string_view>

namespace troupe::runtime {

std::string json_reason(const std::exception& error) {
  std::string_view text = error.what();
  if (text.starts_with("[json.exception."))
    if (const auto end = text.find("] "); end != text.npos)
      text.remove_prefix(end + 2);
  constexpr std::string_view parse_error = "parse error at ";
  if (text.starts_with(parse_error))
    text.remove_prefix(parse_error.size());
  return std::string{text};
}

} // namespace troupe::runtime
