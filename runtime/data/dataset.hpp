// SPDX-License-Identifier: Apache-2.0
//
// The order in which rows become groups: pass after pass over the same rows,
// each pass in an order that is a pure function of (seed, pass). Not the
// experience index: what became of a group is not known here.
#pragma once

#include "protocols/ids.hpp"
#include "runtime/data/prompt_rows.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::runtime::data {

/// Where the next group comes from; part of a checkpoint.
struct data_position {
  std::uint32_t data_pass = 0;
  std::uint32_t position = 0; ///< in [0, num_rows)
  std::uint64_t num_rows = 0; ///< of the file, to notice another one

  bool operator==(const data_position&) const = default;
};

enum class row_order : std::uint8_t { as_in_file, shuffled };

/// Thread: one; `row` may reorder its cached pass.
class dataset {
public:
  /// Errors: data_unreadable for more than 2^32 - 1 rows.
  dataset(prompt_rows rows, std::uint64_t seed, row_order order);

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }

  [[nodiscard]] const prompt_rows& source() const noexcept { return rows_; }

  /// Returns the row of a group, whatever its attempt; id.position < size().
  /// Errors: those of prompt_rows::row.
  [[nodiscard]] prompt_row row(const protocols::group_id& id);

  /// Returns the id of the next group, attempt 0, and goes on by one.
  protocols::group_id take();

  [[nodiscard]] data_position position() const noexcept { return next_; }

  /// Errors: checkpoint_mismatch if the position is of other data; nothing
  /// has changed then.
  void restore(const data_position& position);

private:
  prompt_rows rows_;
  std::uint64_t seed_;
  row_order order_;
  data_position next_;
  std::uint32_t cached_pass_ = 0;
  std::vector<std::uint32_t> cached_order_; ///< row index by position
};

/// Returns the order of one pass: Fisher-Yates on Philox, unbiased to 2^-32.
/// Source: Knuth, TAOCP 2, 3.4.2, algorithm P.
std::vector<std::uint32_t>
pass_order(std::uint64_t seed, std::uint32_t data_pass, std::uint32_t num_rows);

} // namespace troupe::runtime::data
