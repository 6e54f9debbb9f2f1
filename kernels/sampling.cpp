// SPDX-License-Identifier: Apache-2.0
#include "kernels/sampling.hpp"

#include "kernels/softmax_row.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace troupe::kernels {

namespace {

// Probabilities (unnormalised, never negative) are compared as the integers
// that their bits are: the order is the same.
std::uint32_t bits_of(float p) {
  return std::bit_cast<std::uint32_t>(p);
}

/// The lowest id among the largest; NaN is smaller than anything.
std::size_t index_of_largest(std::span<const float> values) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i] > values[best]
        || (std::isnan(values[best]) && !std::isnan(values[i])))
      best = i;
  return best;
}

double total_of(std::span<const float> p) {
  double total = 0;
  for (const float v : p)
    total += double{v};
  return total;
}

/// Finds the largest bound such that the weights of the values whose bits are
/// >= bound reach `wanted`, and what the values above it weigh. Weighs a value
/// as weigh(value); radix selection over 11, 11 and 10 bits.
template <class Weigh>
std::uint32_t find_bound(std::span<const float> p, double wanted,
                         const Weigh& weigh, double& above) {
  std::uint32_t prefix = 0;
  std::uint32_t known = 0; // mask of the bits found so far
  above = 0;
  for (const auto& [shift, width] :
       std::array<std::pair<int, int>, 3>{{{21, 11}, {10, 11}, {0, 10}}}) {
    std::array<double, 2048> weights{};
    const std::uint32_t mask = (1U << width) - 1;
    for (const float v : p)
      if ((bits_of(v) & known) == prefix)
        weights[bits_of(v) >> shift & mask] += weigh(v);
    std::uint32_t bin = mask;
    while (bin > 0 && above + weights[bin] < wanted)
      above += weights[bin--];
    prefix |= bin << shift;
    known |= mask << shift;
  }
  return prefix;
}

/// Drops what is below the bound, and of those at the bound all but the first
/// `num_at_bound`.
void keep(std::span<float> p, std::uint32_t bound, std::int64_t num_at_bound) {
  for (float& v : p) {
    if (bits_of(v) > bound)
      continue;
    if (bits_of(v) < bound || num_at_bound-- <= 0)
      v = 0;
  }
}

void keep_top_k(std::span<float> p, std::int32_t k) {
  double above = 0;
  const auto bound = find_bound(
    p, double{static_cast<double>(k)}, [](float) { return 1.0; }, above);
  keep(p, bound, k - static_cast<std::int64_t>(above));
}

void keep_top_p(std::span<float> p, float top_p) {
  // Never 0, so that one token is kept at least.
  const double wanted =
    std::max(double{top_p} * total_of(p), std::numeric_limits<double>::min());
  double above = 0;
  const auto bound = find_bound(
    p, wanted, [](float v) { return double{v}; }, above);
  const double each = double{std::bit_cast<float>(bound)};
  std::int64_t num_at_bound = 1;
  while (above + each * static_cast<double>(num_at_bound) < wanted
         && num_at_bound < static_cast<std::int64_t>(p.size()))
    ++num_at_bound;
  keep(p, bound, num_at_bound);
}

/// The first id whose cumulative weight exceeds `target`; the last one with
/// any weight if rounding leaves none.
std::size_t invert(std::span<const float> p, double target) {
  double cumulative = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] <= 0)
      continue;
    cumulative += double{p[i]};
    last = i;
    if (cumulative > target)
      return i;
  }
  return last;
}

} // namespace

sampled_token sample_token(std::span<const float> logits,
                           const sampling_settings& settings, double uniform,
                           std::span<float> scratch) {
  const auto size = static_cast<std::int64_t>(logits.size());
  const bool is_greedy = settings.temperature <= 0;
  const float inverse = is_greedy ? 1.0F : 1.0F / settings.temperature;
  const auto row = reduce_row(logits.data(), size, inverse,
                              is_greedy ? nullptr : scratch.data());
  const auto answer = [&](std::size_t id) {
    sampled_token token;
    token.id = static_cast<std::int32_t>(id);
    token.logprob = logprob_of(row, logits[id], inverse);
    token.filtered_logprob = token.logprob;
    return token;
  };
  if (is_greedy || !std::isfinite(row.total)) {
    auto token = answer(index_of_largest(logits));
    if (is_greedy)
      token.filtered_logprob = 0;
    return token;
  }

  const std::span<float> p = scratch.first(logits.size());
  const bool has_top_k = settings.top_k > 0 && settings.top_k < size;
  const bool has_top_p = settings.top_p < 1;
  if (has_top_k)
    keep_top_k(p, settings.top_k);
  if (has_top_p)
    keep_top_p(p, settings.top_p);
  const double total = total_of(p);
  auto token = answer(invert(p, uniform * total));
  if (has_top_k || has_top_p) {
    const float z = logits[static_cast<std::size_t>(token.id)] * inverse;
    token.filtered_logprob =
      static_cast<float>(double{z} - double{row.maximum} - log_of(total));
  }
  return token;
}

} // namespace troupe::kernels
