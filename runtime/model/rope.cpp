// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/rope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace troupe::runtime::model {

namespace {

using frequencies = std::vector<double>;

constexpr double full_turn = 2 * std::numbers::pi;

/// Long waves are stretched, short ones stay, between them it is gradual.
void stretch_llama3(const rope_config& rope, frequencies& all) {
  const auto length = static_cast<double>(rope.original_positions);
  const double low = rope.low_frequency_factor;
  const double high = rope.high_frequency_factor;
  for (double& f : all) {
    const double num_turns = length * f / full_turn;
    if (num_turns < low)
      f /= rope.factor;
    else if (num_turns <= high) {
      const double share = (num_turns - low) / (high - low);
      f = (1 - share) * f / rope.factor + share * f;
    }
  }
}

void stretch_yarn(const rope_config& rope, std::int64_t width,
                  frequencies& all) {
  const auto size = static_cast<double>(width);
  const auto length = static_cast<double>(rope.original_positions);
  // The pair of elements that turns so often over the original positions.
  const auto pair_of = [&](double num_turns) {
    return size * std::log(length / (num_turns * full_turn))
           / (2 * std::log(rope.theta));
  };
  double low = pair_of(rope.beta_fast), high = pair_of(rope.beta_slow);
  if (rope.truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, size - 1);
  if (low == high)
    high += 0.001;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double stretched =
      std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    all[i] = all[i] / rope.factor * stretched + all[i] * (1 - stretched);
  }
}

/// Those of a text of so many tokens.
frequencies dynamic_frequencies(const rope_config& rope, std::int64_t width,
                                std::int64_t num_tokens) {
  const auto size = static_cast<double>(width);
  const double length = static_cast<double>(num_tokens)
                        / static_cast<double>(rope.original_positions);
  const double grown = rope.factor * length - (rope.factor - 1);
  return kernels::rotary_frequencies(
    width, rope.theta * std::pow(grown, size / (size - 2)));
}

frequencies frequencies_of(const rope_config& rope, std::int64_t width) {
  auto all = kernels::rotary_frequencies(width, rope.theta);
  switch (rope.kind) {
  case rope_kind::standard:
  case rope_kind::dynamic: break;
  case rope_kind::linear:
    for (double& f : all)
      f /= rope.factor;
    break;
  case rope_kind::llama3: stretch_llama3(rope, all); break;
  case rope_kind::yarn: stretch_yarn(rope, width, all); break;
  }
  return all;
}

} // namespace

kernels::rotary_table make_rotary_table(const rope_config& rope,
                                        std::int64_t head_width,
                                        std::int64_t num_positions) {
  const auto width = rope.width == 0 ? head_width : rope.width;
  const auto all = frequencies_of(rope, width);
  kernels::rotary_table table;
  for (std::int64_t p = 0; p < num_positions; ++p)
    if (rope.kind == rope_kind::dynamic && p >= rope.original_positions)
      kernels::append_position(table, dynamic_frequencies(rope, width, p + 1));
    else
      kernels::append_position(table, all, rope.attention_factor);
  return table;
}

} // namespace troupe::runtime::model
