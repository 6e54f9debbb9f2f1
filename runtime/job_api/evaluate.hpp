// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/job_api/job.hpp"

#include <cstdint>
#include <string_view>

namespace troupe::runtime::job_api {

/// Evaluates the first eval.max_prompts rows of `data.eval`, each with
/// eval.samples_per_prompt completions drawn as eval.sampling says. A
/// completion is correct if its reward is at least 1; one whose reward failed
/// is not. Metrics: eval/<name>_accuracy (avg@n), _pass_at_<k>, _reward_mean,
/// _prompts, _completion_tokens_mean.
metrics evaluate(job& j, std::string_view name);

/// Returns the unbiased estimate of the chance that one of k completions is
/// correct, from n of which c are: 1 - binomial(n - c, k) / binomial(n, k).
/// Source: Chen et al. 2021, Evaluating Large Language Models Trained on Code,
/// equation 1, as a product.
double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k);

} // namespace troupe::runtime::job_api
