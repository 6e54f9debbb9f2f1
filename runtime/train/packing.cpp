// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/packing.hpp"

#include "protocols/failure.hpp"

namespace troupe::runtime::train {

namespace {

void append(packed_rows& to, const sequence& s) {
  const auto base = static_cast<std::int32_t>(to.ids.size());
  to.ids.insert(to.ids.end(), s.prompt_ids.begin(), s.prompt_ids.end());
  to.ids.insert(to.ids.end(), s.completion_ids.begin(),
                s.completion_ids.end() - 1);
  const auto num_rows = static_cast<std::int32_t>(s.num_rows());
  for (std::int32_t i = 0; i < num_rows; ++i)
    to.positions.push_back(i);
  to.offsets.push_back(base + num_rows);
  const auto first = base + static_cast<std::int32_t>(s.prompt_ids.size()) - 1;
  for (std::size_t i = 0; i < s.completion_ids.size(); ++i)
    to.rows.push_back(first + static_cast<std::int32_t>(i));
  to.targets.insert(to.targets.end(), s.completion_ids.begin(),
                    s.completion_ids.end());
}

} // namespace

std::vector<packed_rows> pack(std::span<const sequence> sequences,
                              std::int64_t max_rows) {
  std::vector<packed_rows> out;
  std::size_t num_tokens = 0;
  for (const auto& s : sequences) {
    if (s.prompt_ids.empty() || s.completion_ids.empty())
      throw protocols::failure(
        protocols::errc::invalid_request,
        "a sequence to train on has " + std::to_string(s.prompt_ids.size())
          + " prompt and " + std::to_string(s.completion_ids.size())
          + " completion tokens; at least one of each is needed");
    if (out.empty()
        || out.back().ids.size() + s.num_rows()
             > static_cast<std::size_t>(max_rows)) {
      out.emplace_back();
      out.back().offsets.push_back(0);
      out.back().first_token = num_tokens;
    }
    append(out.back(), s);
    num_tokens += s.completion_ids.size();
  }
  return out;
}

} // namespace troupe::runtime::train
