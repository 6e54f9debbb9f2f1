// SPDX-License-Identifier: Apache-2.0
//
// From rewards to advantages: a baseline within the group, then a scale.
#pragma once

#include <cstdint>
#include <span>

namespace troupe::kernels {

/// What is taken off a reward. Groups of n finite rewards r_1 ... r_n.
enum class advantage_baseline : std::uint8_t {
  /// mean(r). Source: Shao et al., DeepSeekMath, section 4.1.2.
  group_mean,
  /// sum of the others / (n - 1). Source: Ahmadian et al., Back to Basics
  /// (RLOO), equation 8; Kool et al. 2019.
  leave_one_out,
};

/// What the difference is divided by. All deviations are those of a sample
/// (denominator: count - 1), and 1e-4 is added, as TRL does.
enum class advantage_scale : std::uint8_t {
  group_std,           ///< of the group's rewards. DeepSeekMath, section 4.1.2
  none,                ///< 1. Source: Liu et al., Dr. GRPO, section 3.2
  batch_std,           ///< of all rewards. TRL: scale_rewards="batch"
  batch_advantage_std, ///< of all differences. TRL, RLOO: normalize_advantages
};

struct advantage_settings {
  advantage_baseline baseline = advantage_baseline::group_mean;
  advantage_scale scale = advantage_scale::group_std;
};

struct advantage_counts {
  std::int64_t num_flat_groups =
    0;                            ///< finite rewards all equal, or fewer than 2
  std::int64_t num_nonfinite = 0; ///< rewards that are NaN or infinite
};

/// Rewards that are not finite are selected out of every mean and get exactly
/// 0, as do all rewards of a flat group.
/// Shapes: rewards [B of all groups], group_sizes [groups] -> advantages [B].
/// Numerics: sums in double, in order. Differs from TRL: batch_advantage_std
/// does not take the mean off again, which is 0 for both baselines.
advantage_counts compute_advantages(std::span<const float> rewards,
                                    std::span<const std::int64_t> group_sizes,
                                    const advantage_settings& settings,
                                    std::span<float> advantages);

/// True if the group is flat: it has no advantage under any setting.
bool is_flat(std::span<const float> rewards);

} // namespace troupe::kernels
