// SPDX-License-Identifier: Apache-2.0
//
// Random ragged batches with every edge case, and the objectives as the papers
// write them, sequence by sequence in double. Shares no code with kernels/.
#pragma once

#include "kernels/importance_weights.hpp"
#include "kernels/loss_weights.hpp"
#include "kernels/policy_loss.hpp"
#include "tests/kernels/fixture.hpp"

#include <limits>

namespace troupe::kernels::testing {

enum class ratio_level : std::uint8_t { token, sequence };

/// One algorithm.
struct recipe {
  loss_weight_settings weights;
  policy_loss_settings loss;
  importance_settings importance;
  ratio_level level = ratio_level::token;
};

struct ragged_batch {
  std::vector<std::int64_t> lengths;
  std::vector<std::uint8_t> mask;
  floats now, old, rollout, reference, advantages;

  [[nodiscard]] std::size_t size() const { return mask.size(); }
};

/// Sequences of 0 to 13 tokens, one empty, one wholly masked, one of a single
/// token, one with a NaN and an infinite rollout logprob that the mask leaves
/// out, and some with an advantage of 0 (groups of one, or of equal rewards).
inline ragged_batch random_batch(std::uint64_t seed) {
  ragged_batch b;
  b.lengths = {1, 0};
  const auto sizes = noise(8, seed, 6.5F);
  for (const float size : sizes)
    b.lengths.push_back(static_cast<std::int64_t>(size + 7));
  std::int64_t total = 0;
  for (const auto length : b.lengths)
    total += length;
  b.now = noise(total, seed + 1);
  b.old = noise(total, seed + 2, 0.6F);
  b.rollout = noise(total, seed + 3, 0.3F);
  b.reference = noise(total, seed + 4);
  const auto drawn = noise(total, seed + 5);
  const auto advantages = noise(10, seed + 6, 2);
  std::size_t t = 0;
  for (std::size_t s = 0; s < b.lengths.size(); ++s)
    for (std::int64_t i = 0; i < b.lengths[s]; ++i, ++t) {
      b.old[t] += b.now[t];
      b.rollout[t] += b.old[t];
      b.mask.push_back(s != 3 && (drawn[t] > -0.7F || s == 0));
      b.advantages.push_back(s == 4 || s == 7 ? 0 : advantages[s]);
    }
  const auto infinity = std::numeric_limits<float>::infinity();
  for (t = 0; t < b.size(); ++t)
    if (b.mask[t] == 0)
      b.rollout[t] = t % 2 == 0 ? -infinity : std::nanf("");
  return b;
}

namespace formulas {

inline double clip(double x, double low, double high) {
  return std::min(std::max(x, low), high);
}

inline double objective(const policy_loss_settings& s, double r,
                        double r_frozen, double advantage, double logprob) {
  const double low = 1 - double{s.clip_low}, high = 1 + double{s.clip_high};
  if (s.objective == policy_objective::cispo)
    return -clip(r_frozen, low, high) * advantage * logprob;
  const double pessimist =
    std::min(r * advantage, clip(r, low, high) * advantage);
  return s.dual_clip > 0 && advantage < 0
           ? -std::max(pessimist, double{s.dual_clip} * advantage)
           : -pessimist;
}

inline double divergence(const policy_loss_settings& s, double logprob,
                         double reference) {
  const double d = reference - logprob;
  return s.kl == kl_estimator::k1   ? -d
         : s.kl == kl_estimator::k2 ? d * d / 2
                                    : std::exp(d) - 1 - d;
}

inline double correction(const importance_settings& s, double log_weight) {
  const double w = std::exp(log_weight);
  const double low = double{s.min}, high = double{s.max};
  switch (s.correction) {
  case importance_correction::none: return 1;
  case importance_correction::token_truncate:
  case importance_correction::sequence_truncate: return clip(w, low, high);
  default: return w < low || w > high ? 0 : w;
  }
}

/// The loss of the batch at the logprobs `x`. What the objective does not
/// differentiate through is taken at `frozen`.
inline double loss(const ragged_batch& b, const recipe& how, const doubles& x,
                   const doubles& frozen) {
  double num_tokens = 0, num_sequences = 0, loss = 0;
  std::vector<std::vector<std::size_t>> sequences; // their selected tokens
  std::size_t t = 0;
  for (const auto length : b.lengths) {
    sequences.emplace_back();
    for (std::int64_t i = 0; i < length; ++i, ++t)
      if (b.mask[t] != 0)
        sequences.back().push_back(t);
    num_tokens += static_cast<double>(sequences.back().size());
    num_sequences += sequences.back().empty() ? 0 : 1;
  }
  for (const auto& tokens : sequences) {
    const auto n = static_cast<double>(tokens.size());
    double mean = 0, mean_frozen = 0, sequence_gap = 0, of_sequence = 0;
    for (const auto i : tokens) {
      mean += (x[i] - double{b.old[i]}) / n;
      mean_frozen += (frozen[i] - double{b.old[i]}) / n;
      sequence_gap += double{b.old[i]} - double{b.rollout[i]};
    }
    for (const auto i : tokens) {
      const bool by_token = how.level == ratio_level::token;
      const bool is_of_token =
        how.importance.correction == importance_correction::token_mask
        || how.importance.correction == importance_correction::token_truncate;
      of_sequence +=
        correction(how.importance, is_of_token
                                     ? double{b.old[i]} - double{b.rollout[i]}
                                     : sequence_gap)
          * objective(
            how.loss, std::exp(by_token ? x[i] - double{b.old[i]} : mean),
            std::exp(by_token ? frozen[i] - double{b.old[i]} : mean_frozen),
            double{b.advantages[i]}, x[i])
        + double{how.loss.kl_coefficient}
            * divergence(how.loss, x[i], double{b.reference[i]});
    }
    switch (how.weights.aggregation) {
    case loss_aggregation::token_mean: loss += of_sequence / num_tokens; break;
    case loss_aggregation::sequence_mean:
      loss += tokens.empty() ? 0 : of_sequence / n / num_sequences;
      break;
    case loss_aggregation::fixed_length:
      loss += of_sequence / num_sequences
              / static_cast<double>(how.weights.fixed_length);
      break;
    case loss_aggregation::sequence_sum:
      loss += of_sequence / num_sequences;
      break;
    }
  }
  return loss;
}

} // namespace formulas

} // namespace troupe::kernels::testing
