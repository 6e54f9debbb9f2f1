// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/length_check.hpp"

#include "protocols/failure.hpp"

namespace troupe::runtime::data {

void length_check::add(const std::string& place, std::int64_t num_tokens) {
  constexpr std::int64_t max_listed = 10;
  if (num_tokens > limit_.max_tokens && ++num_long_ <= max_listed)
    listed_ += "\n  " + place + ": " + std::to_string(num_tokens) + " tokens";
}

void length_check::finish(const std::string& file, std::size_t num_rows) const {
  if (num_long_ > 0)
    throw protocols::failure{
      protocols::errc::prompt_too_long,
      file + ": " + std::to_string(num_long_) + " of "
        + std::to_string(num_rows) + " " + limit_.what + " have more than "
        + std::to_string(limit_.max_tokens) + " tokens; " + limit_.remedy
        + ", or take them out:" + listed_};
}

} // namespace troupe::runtime::data
