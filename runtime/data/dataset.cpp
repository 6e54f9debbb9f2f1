// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/dataset.hpp"

#include "kernels/random.hpp"
#include "protocols/failure.hpp"

#include <numeric>
#include <utility>

namespace troupe::runtime::data {

using protocols::errc;
using protocols::failure;

namespace {

/// Returns a number in [0, bound): the high part of 64 random bits times the
/// bound.
std::uint32_t below(std::uint32_t bound, std::uint32_t high,
                    std::uint32_t low) {
  const auto carry = (std::uint64_t{low} * bound) >> 32;
  return static_cast<std::uint32_t>((std::uint64_t{high} * bound + carry)
                                    >> 32);
}

} // namespace

dataset::dataset(prompt_rows rows, std::uint64_t seed, row_order order)
  : rows_(std::move(rows)), seed_(seed), order_(order) {
  if (size() > UINT32_MAX)
    throw failure{errc::data_unreadable,
                  rows_.name() + ": has " + std::to_string(size())
                    + " rows; allowed: at most 2^32 - 1 in one source"};
  next_.num_rows = size();
}

prompt_row dataset::row(const protocols::group_id& id) {
  TROUPE_ASSERT(id.position < size(), "a group's position is a row's");
  if (order_ == row_order::as_in_file)
    return rows_.row(id.position);
  if (cached_order_.empty() || cached_pass_ != id.data_pass) {
    cached_order_ =
      pass_order(seed_, id.data_pass, static_cast<std::uint32_t>(size()));
    cached_pass_ = id.data_pass;
  }
  return rows_.row(cached_order_[id.position]);
}

protocols::group_id dataset::take() {
  const protocols::group_id id{next_.data_pass, next_.position, 0};
  if (++next_.position == size()) {
    next_.position = 0;
    ++next_.data_pass;
  }
  return id;
}

void dataset::restore(const data_position& position) {
  if (position.num_rows != size() || position.position >= size())
    throw failure{errc::checkpoint_mismatch,
                  rows_.name() + ": has " + std::to_string(size())
                    + " rows, but the checkpoint was at row "
                    + std::to_string(position.position) + " of "
                    + std::to_string(position.num_rows)
                    + "; resume with the data that the run began with"};
  next_ = position;
}

std::vector<std::uint32_t> pass_order(std::uint64_t seed,
                                      std::uint32_t data_pass,
                                      std::uint32_t num_rows) {
  std::vector<std::uint32_t> order(num_rows);
  std::iota(order.begin(), order.end(), 0U);
  const std::array<std::uint32_t, 2> key{
    static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  for (auto i = num_rows; i > 1; --i) {
    const auto random = kernels::philox(
      {i, data_pass, 0, static_cast<std::uint32_t>(kernels::purpose::shuffle)},
      key);
    std::swap(order[i - 1], order[below(i, random[0], random[1])]);
  }
  return order;
}

} // namespace troupe::runtime::data
