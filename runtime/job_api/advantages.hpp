// SPDX-License-Identifier: Apache-2.0
//
// From the rewards of a rollout batch to the advantages of its samples, as the
// train block says.
#pragma once

#include "runtime/job_api/job.hpp"

namespace troupe::runtime::job_api {

/// Takes the overlong penalty and the KL off the rewards, then the baselines,
/// and divides by the scale. Returns one a sample, in order. Adds to `values`.
/// Asks the job to score the groups if that is in the reward, or if more than
/// one of `num_updates` has to compare with the weights before the first.
/// Source: DAPO, equation 13 (kernels/overlong_penalty.hpp); Ouyang et al.,
/// InstructGPT, equation 2 (KL in the reward; here one sum a completion);
/// kernels/advantage.hpp.
std::vector<float> compute_advantages(job& j, const std::vector<group>& groups,
                                      std::uint32_t num_updates,
                                      metrics& values);

} // namespace troupe::runtime::job_api
