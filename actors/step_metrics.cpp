// SPDX-License-Identifier: Apache-2.0
#include "actors/step_metrics.hpp"

#include "runtime/experience/rollout_group.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

namespace troupe::actors {

namespace api = runtime::job_api;
using runtime::job_api::group;

void describe_completions(const std::vector<group>& groups,
                          api::metrics& values) {
  double tokens = 0, longest = 0, truncated = 0, samples = 0, prompt = 0;
  for (const auto& g : groups) {
    prompt += g.num_prompt_tokens;
    for (std::size_t i = 0; i < g.num_tokens.size(); ++i) {
      tokens += g.num_tokens[i];
      longest = std::max(longest, static_cast<double>(g.num_tokens[i]));
      truncated += g.finish[i] == runtime::experience::finish_reason::budget;
      ++samples;
    }
  }
  values["rollout/tokens"] = tokens;
  values["rollout/completion_tokens_mean"] = tokens / std::max(1.0, samples);
  values["rollout/completion_tokens_max"] = longest;
  values["rollout/truncated_fraction"] = truncated / std::max(1.0, samples);
  values["rollout/prompt_tokens_mean"] =
    prompt / std::max<double>(1, static_cast<double>(groups.size()));
}

double resident_bytes(const std::string& pid) {
  std::ifstream in{"/proc/" + pid + "/statm"};
  double total = 0, resident = 0;
  in >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void describe_rewards(const std::vector<group>& groups, api::metrics& values) {
  std::vector<double> rewards;
  for (const auto& g : groups)
    rewards.insert(rewards.end(), g.rewards.begin(), g.rewards.end());
  if (rewards.empty())
    return;
  const auto n = static_cast<double>(rewards.size());
  const double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / n;
  double squares = 0;
  for (const double r : rewards)
    squares += (r - mean) * (r - mean);
  values["reward/mean"] = mean;
  values["reward/std"] = n > 1 ? std::sqrt(squares / (n - 1)) : 0.0;
  values["reward/min"] = *std::min_element(rewards.begin(), rewards.end());
  values["reward/max"] = *std::max_element(rewards.begin(), rewards.end());
}

} // namespace troupe::actors
