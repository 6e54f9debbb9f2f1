// SPDX-License-Identifier: Apache-2.0
#include "kernels/sampling.hpp"

#include "kernels/scratch.hpp"
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

std::size_t index_of(std::span<const float> values, float wanted) {
  return static_cast<std::size_t>(
    std::find(values.begin(), values.end(), wanted) - values.begin());
}

/// The tokens that are still in play, in rising id, with their probabilities
/// (unnormalised).
class candidates {
public:
  candidates(float* p, std::int32_t* ids, std::size_t size)
    : p_(p), ids_(ids), size_(size) {}

  [[nodiscard]] std::span<const float> p() const { return {p_, size_}; }
  [[nodiscard]] std::size_t id(std::size_t i) const {
    return has_ids_ ? static_cast<std::size_t>(ids_[i]) : i;
  }

  /// Drops those whose p does not please.
  template <class Predicate>
  void keep_if(const Predicate& pleases) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (!pleases(p_[i]))
        continue;
      p_[n] = p_[i];
      ids_[n++] = static_cast<std::int32_t>(id(i));
    }
    size_ = n;
    has_ids_ = true;
  }

private:
  float* p_;
  std::int32_t* ids_;
  std::size_t size_;
  bool has_ids_ = false; // until the first one is dropped, id(i) is i
};

/// Keeps the fewest of the most probable whose weights reach `wanted`; among
/// equals the lowest ids. Radix selection over 11, 11 and 10 bits.
template <class Weigh>
void keep_best(candidates& all, double wanted, const Weigh& weigh) {
  std::uint32_t bound = 0;
  std::uint32_t known = 0; // mask of the bits of the bound found so far
  double above = 0;        // weight of what is above the bound
  for (const auto& [shift, width] :
       std::array<std::pair<int, int>, 3>{{{21, 11}, {10, 11}, {0, 10}}}) {
    std::array<double, 2048> weights{};
    const std::uint32_t mask = (1U << width) - 1;
    for (const float v : all.p())
      if ((bits_of(v) & known) == bound)
        weights[bits_of(v) >> shift & mask] += weigh(v);
    std::uint32_t bin = mask;
    while (bin > 0 && above + weights[bin] < wanted)
      above += weights[bin--];
    bound |= bin << shift;
    known |= mask << shift;
    all.keep_if([&](float v) { return (bits_of(v) & known) >= bound; });
  }
  const double each = weigh(std::bit_cast<float>(bound));
  std::size_t num_at_bound = 1;
  while (above + each * static_cast<double>(num_at_bound) < wanted
         && num_at_bound < all.p().size())
    ++num_at_bound;
  all.keep_if([&](float v) {
    return bits_of(v) > bound || (num_at_bound > 0 && num_at_bound-- > 0);
  });
}

constexpr std::size_t block_size = 512;

/// The sum of at most block_size probabilities, in one order: 8 sums, a tree.
double total_of(std::span<const float> p) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + 8 <= p.size(); i += 8)
    for (std::size_t j = 0; j < 8; ++j)
      sums[j] += double{p[i + j]};
  for (std::size_t j = 0; i + j < p.size(); ++j)
    sums[j] += double{p[i + j]};
  return ((sums[0] + sums[4]) + (sums[2] + sums[6]))
         + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

double total_of_blocks(std::span<const float> p) {
  double total = 0;
  for (std::size_t b = 0; b < p.size(); b += block_size)
    total += total_of(p.subspan(b, std::min(block_size, p.size() - b)));
  return total;
}

/// The first index whose cumulative weight exceeds `target`.
std::size_t invert(std::span<const float> p, double target) {
  double cumulative = 0;
  std::size_t begin = 0;
  std::size_t end = std::min(block_size, p.size());
  for (;;) {
    const double next = cumulative + total_of(p.subspan(begin, end - begin));
    if (next > target || end == p.size())
      break;
    cumulative = next;
    begin = end;
    end = std::min(begin + block_size, p.size());
  }
  for (std::size_t i = begin; i < end; ++i) {
    cumulative += double{p[i]};
    if (cumulative > target && p[i] > 0)
      return i;
  }
  // Rounding left none: the last with any weight.
  while (end > 1 && p[end - 1] <= 0)
    --end;
  return end - 1;
}

} // namespace

sampled_token sample_token(std::span<const float> logits,
                           const sampling_settings& settings, double uniform,
                           std::span<float> probabilities) {
  const auto size = static_cast<std::int64_t>(logits.size());
  const bool is_greedy = settings.temperature <= 0;
  const float inverse = is_greedy ? 1.0F : 1.0F / settings.temperature;
  const auto row = reduce_row(logits.data(), size, inverse,
                              is_greedy ? nullptr : probabilities.data());
  const auto answer = [&](std::size_t id) {
    sampled_token token;
    token.id = static_cast<std::int32_t>(id);
    token.logprob = logprob_of(row, logits[id], inverse);
    token.filtered_logprob = token.logprob;
    return token;
  };
  if (!std::isfinite(row.total) || is_greedy) {
    auto token = answer(std::isfinite(row.total) ? index_of(logits, row.maximum)
                                                 : index_of_largest(logits));
    if (is_greedy)
      token.filtered_logprob = 0;
    return token;
  }

  const bool has_top_k = settings.top_k > 0 && settings.top_k < size;
  const bool has_top_p = settings.top_p < 1;
  kernels::scratch memory(has_top_k || has_top_p ? size : 0);
  candidates kept(probabilities.data(),
                  reinterpret_cast<std::int32_t*>(memory.take(size)),
                  logits.size());
  if (has_top_k)
    keep_best(kept, static_cast<double>(settings.top_k),
              [](float) { return 1.0; });
  // Never 0, so that one token is kept at least.
  if (has_top_p)
    keep_best(kept,
              std::max(double{settings.top_p} * total_of_blocks(kept.p()),
                       std::numeric_limits<double>::min()),
              [](float v) { return double{v}; });
  const double total = total_of_blocks(kept.p());
  auto token = answer(kept.id(invert(kept.p(), uniform * total)));
  if (has_top_k || has_top_p) {
    const float z = logits[static_cast<std::size_t>(token.id)] * inverse;
    token.filtered_logprob =
      static_cast<float>(double{z} - double{row.maximum} - log_of(total));
  }
  return token;
}

} // namespace troupe::kernels
