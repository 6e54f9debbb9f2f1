// SPDX-License-Identifier: Apache-2.0
//
// What a step's groups and processes say about themselves, as metrics
// (runtime/outputs/metric_keys.hpp).
#pragma once

#include "runtime/job_api/job.hpp"

#include <string>
#include <vector>

namespace troupe::actors {

/// Lengths in tokens, and ends of the completions.
void describe_completions(const std::vector<runtime::job_api::group>& groups,
                          runtime::job_api::metrics& values);

/// Mean, sample standard deviation and range; nothing without a reward.
void describe_rewards(const std::vector<runtime::job_api::group>& groups,
                      runtime::job_api::metrics& values);

/// Returns the resident memory of a process ("self" or a number) in bytes, 0 if
/// it is gone.
double resident_bytes(const std::string& pid);

} // namespace troupe::actors
