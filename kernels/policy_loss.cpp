// SPDX-License-Identifier: Apache-2.0
#include "kernels/policy_loss.hpp"

#include "kernels/scalar_math.hpp"

#include <algorithm>

namespace troupe::kernels {

namespace {

struct token_objective {
  double loss = 0, slope = 0;
};

class objectives {
public:
  objectives(const policy_loss_settings& settings, policy_loss_sums& sums)
    : low_(1 - double{settings.clip_low}),
      high_(1 + double{settings.clip_high}), dual_(double{settings.dual_clip}),
      sums_(sums) {}

  /// Where the clip binds, the objective is flat; elsewhere the minimum is the
  /// unclipped term. NaN compares false, so it reaches the loss.
  token_objective clipped(double ratio, double advantage) {
    const bool is_low = ratio < low_ && advantage < 0;
    const bool is_high = ratio > high_ && advantage > 0;
    const bool is_dual = dual_ > 0 && ratio > dual_ && advantage < 0;
    sums_.num_clipped_low += is_low ? 1 : 0;
    sums_.num_clipped_high += is_high ? 1 : 0;
    sums_.num_dual_clipped += is_dual ? 1 : 0;
    if (is_low || is_high || is_dual)
      return {-(is_low ? low_ : is_high ? high_ : dual_) * advantage, 0};
    return {-ratio * advantage, -ratio * advantage};
  }

  token_objective cispo(double ratio, double advantage, double logprob) {
    sums_.num_clipped_low += ratio < low_ ? 1 : 0;
    sums_.num_clipped_high += ratio > high_ ? 1 : 0;
    const double slope = -std::clamp(ratio, low_, high_) * advantage;
    return {slope * logprob, slope};
  }

private:
  double low_, high_, dual_;
  policy_loss_sums& sums_;
};

} // namespace

policy_loss_sums policy_loss(const policy_loss_tokens& tokens,
                             const policy_loss_settings& settings,
                             std::span<float> coefficients) {
  policy_loss_sums sums;
  objectives objective{settings, sums};
  const double beta = double{settings.kl_coefficient};
  for (std::size_t t = 0; t < tokens.new_logprobs.size(); ++t) {
    const double weight = double{tokens.weights[t]};
    coefficients[t] = 0;
    if (weight == 0)
      continue;
    const double logprob = double{tokens.new_logprobs[t]};
    const double advantage = double{tokens.advantages[t]};
    const double importance = tokens.importance_weights.empty()
                                ? 1
                                : double{tokens.importance_weights[t]};
    token_objective at;
    if (advantage != 0 && importance != 0) {
      const double ratio = exp_of(tokens.log_ratios.empty()
                                    ? logprob - double{tokens.old_logprobs[t]}
                                    : tokens.log_ratios[t]);
      at = settings.objective == policy_objective::cispo
             ? objective.cispo(ratio, advantage, logprob)
             : objective.clipped(ratio, advantage);
      at.loss *= importance;
      at.slope *= importance;
    }
    if (beta != 0) {
      const auto kl =
        kl_estimate(settings.kl, logprob, double{tokens.reference_logprobs[t]});
      sums.kl += weight * kl.value;
      at.loss += beta * kl.value;
      at.slope += beta * kl.slope;
    }
    sums.loss += weight * at.loss;
    coefficients[t] = static_cast<float>(weight * at.slope);
  }
  return sums;
}

} // namespace troupe::kernels
