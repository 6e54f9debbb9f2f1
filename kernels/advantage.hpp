// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace troupe::kernels {

/// Group-relative advantages: (reward - mean) / (std + 1e-4), with the sample
/// standard deviation (n - 1), as TRL computes it. A group whose rewards are
/// all equal (or of one sample) gets exactly 0.
/// Source: Shao et al., DeepSeekMath, section 4.1.2; Differs: the 1e-4.
/// Shapes: rewards [G] -> advantages [G].
void group_advantages(std::span<const float> rewards,
                      std::span<float> advantages);

} // namespace troupe::kernels
