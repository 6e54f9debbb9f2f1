// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/packing.hpp"

#include "protocols/failure.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace troupe::runtime::train {

namespace {

std::int32_t size_of(std::span<const std::int32_t> ids) {
  return static_cast<std::int32_t>(ids.size());
}

/// One microbatch in the making, and the prompt that it computed last.
class microbatch {
public:
  explicit microbatch(std::size_t first_token) {
    rows_.offsets.push_back(0);
    rows_.first_token = first_token;
  }

  /// Rows that the sequence would add.
  [[nodiscard]] std::size_t num_rows_of(const sequence& s) const {
    return (has_prompt(s) ? 0 : s.prompt_ids.size()) + s.completion_ids.size()
           - 1;
  }

  [[nodiscard]] std::size_t num_rows() const { return rows_.ids.size(); }

  void append(const sequence& s) {
    const auto num_prompt_rows = size_of(s.prompt_ids);
    if (has_prompt(s)) {
      rows_.prefixes.push_back(
        {first_prompt_row_, first_prompt_row_ + num_prompt_rows});
    } else {
      prompt_ids_ = s.prompt_ids;
      first_prompt_row_ = size_of(rows_.ids);
      rows_.prefixes.emplace_back();
      append_rows(s.prompt_ids, 0);
    }
    // The last row of the prompt predicts the first token of the completion.
    rows_.rows.push_back(first_prompt_row_ + num_prompt_rows - 1);
    const auto first_row = size_of(rows_.ids);
    append_rows(s.completion_ids.first(s.completion_ids.size() - 1),
                num_prompt_rows);
    for (auto row = first_row; row < size_of(rows_.ids); ++row)
      rows_.rows.push_back(row);
    rows_.targets.insert(rows_.targets.end(), s.completion_ids.begin(),
                         s.completion_ids.end());
    rows_.offsets.push_back(size_of(rows_.ids));
  }

  packed_rows take() { return std::move(rows_); }

private:
  [[nodiscard]] bool has_prompt(const sequence& s) const {
    return std::ranges::equal(s.prompt_ids, prompt_ids_);
  }

  void append_rows(std::span<const std::int32_t> ids, std::int32_t position) {
    rows_.ids.insert(rows_.ids.end(), ids.begin(), ids.end());
    for (std::size_t i = 0; i < ids.size(); ++i)
      rows_.positions.push_back(position++);
  }

  packed_rows rows_;
  std::span<const std::int32_t> prompt_ids_; // empty: none yet
  std::int32_t first_prompt_row_ = 0;
};

} // namespace

std::vector<packed_rows> pack(std::span<const sequence> sequences,
                              std::int64_t max_rows) {
  std::vector<packed_rows> out;
  std::optional<microbatch> open;
  std::size_t num_tokens = 0;
  for (const auto& s : sequences) {
    if (s.prompt_ids.empty() || s.completion_ids.empty())
      throw protocols::failure(
        protocols::errc::invalid_request,
        "a sequence to train on has " + std::to_string(s.prompt_ids.size())
          + " prompt and " + std::to_string(s.completion_ids.size())
          + " completion tokens; at least one of each is needed");
    if (open
        && open->num_rows() + open->num_rows_of(s)
             > static_cast<std::size_t>(max_rows)) {
      out.push_back(open->take());
      open.reset();
    }
    if (!open)
      open.emplace(num_tokens);
    open->append(s);
    num_tokens += s.completion_ids.size();
  }
  if (open)
    out.push_back(open->take());
  return out;
}

} // namespace troupe::runtime::train
