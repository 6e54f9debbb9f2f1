// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_api/advantages.hpp"

#include "kernels/advantage.hpp"
#include "kernels/overlong_penalty.hpp"
#include "runtime/config/loss_options.hpp"

#include <chrono>

namespace troupe::runtime::job_api {

namespace {

using clock = std::chrono::steady_clock;

void penalise_length(const config::job_config& config,
                     const std::vector<group>& groups,
                     std::vector<float>& rewards, metrics& values) {
  const auto& t = config.train;
  double total = 0;
  auto reward = rewards.begin();
  for (const auto& g : groups)
    for (const auto length : g.num_tokens) {
      const double penalty = t.overlong_penalty
                             * kernels::overlong_penalty(
                               length, config.rollout.sampling.max_new_tokens,
                               t.overlong_margin_tokens);
      total += penalty;
      *reward++ += static_cast<float>(penalty);
    }
  values["reward/overlong_penalty_mean"] =
    total / static_cast<double>(rewards.size());
}

void penalise_divergence(double coefficient,
                         const std::vector<float>& divergences,
                         std::vector<float>& rewards, metrics& values) {
  double total = 0;
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    const double penalty =
      -coefficient * static_cast<double>(divergences.at(i));
    total += penalty;
    rewards[i] += static_cast<float>(penalty);
  }
  values["reward/kl_penalty_mean"] =
    total / static_cast<double>(rewards.size());
}

/// Of all groups of the step, those that were resampled counted.
double flat_fraction(const std::vector<group>& groups, const metrics& values) {
  double num_flat = 0, num_sampled = static_cast<double>(groups.size());
  for (const auto& g : groups)
    num_flat += kernels::is_flat(g.rewards) ? 1 : 0;
  if (const auto discarded = values.find("reward/resampled_groups");
      discarded != values.end()) {
    num_flat += discarded->second;
    num_sampled += discarded->second;
  }
  return num_flat / num_sampled;
}

} // namespace

std::vector<float> compute_advantages(job& j, const std::vector<group>& groups,
                                      std::uint32_t num_updates,
                                      metrics& values) {
  const auto& t = j.config().train;
  std::vector<float> rewards;
  std::vector<std::int64_t> sizes;
  for (const auto& g : groups) {
    rewards.insert(rewards.end(), g.rewards.begin(), g.rewards.end());
    sizes.push_back(static_cast<std::int64_t>(g.rewards.size()));
  }
  if (t.overlong_margin_tokens > 0)
    penalise_length(j.config(), groups, rewards, values);
  if (config::has_kl_in_reward(t)
      || (config::has_importance(t) && num_updates > 1)) {
    const auto start = clock::now();
    const auto divergences = j.score(groups);
    values["time/score_s"] =
      std::chrono::duration<double>(clock::now() - start).count();
    if (config::has_kl_in_reward(t))
      penalise_divergence(t.kl_coefficient, divergences, rewards, values);
  }
  std::vector<float> advantages(rewards.size());
  const auto counts = kernels::compute_advantages(
    rewards, sizes, config::advantages_of(t), advantages);
  values["reward/zero_spread_fraction"] = flat_fraction(groups, values);
  values["reward/nonfinite"] = static_cast<double>(counts.num_nonfinite);
  return advantages;
}

} // namespace troupe::runtime::job_api
