// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_api/evaluate.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

namespace troupe::runtime::job_api {

namespace {

/// Of one request: the answer about them stays far below 64 KiB.
constexpr std::int64_t max_prompts = 64, max_samples = 2048;

struct sums {
  double correct = 0, reward = 0, tokens = 0;
  std::map<std::int64_t, double> pass_at;
};

void add(const group& g, sums& to) {
  const auto n = static_cast<double>(g.rewards.size());
  const auto correct = std::ranges::count_if(
    g.rewards, [](float reward) { return reward >= 1.0F; });
  to.correct += static_cast<double>(correct) / n;
  for (const float reward : g.rewards)
    to.reward += reward / n;
  for (const auto length : g.num_tokens)
    to.tokens += length / n;
  for (auto& [k, sum] : to.pass_at)
    sum += pass_at_k(static_cast<std::int64_t>(g.rewards.size()), correct, k);
}

} // namespace

double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k) {
  if (n - c < k)
    return 1;
  double all_wrong = 1;
  for (auto i = n - c + 1; i <= n; ++i)
    all_wrong *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - all_wrong;
}

metrics evaluate(job& j, std::string_view name) {
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  const auto& eval = j.config().eval;
  const auto batch = static_cast<std::size_t>(std::clamp<std::int64_t>(
    max_samples / eval.samples_per_prompt, 1, max_prompts));
  const auto ids =
    j.take_prompts("eval", static_cast<std::size_t>(eval.max_prompts));
  sums total;
  for (const auto k : eval.pass_at)
    total.pass_at[k] = 0;
  for (std::size_t begin = 0; begin < ids.size(); begin += batch) {
    const auto end = std::min(ids.size(), begin + batch);
    metrics ignored;
    auto groups =
      j.generate({ids.begin() + static_cast<std::ptrdiff_t>(begin),
                  ids.begin() + static_cast<std::ptrdiff_t>(end)},
                 {"eval", static_cast<std::uint32_t>(eval.samples_per_prompt),
                  eval.sampling},
                 ignored);
    groups = j.grade(std::move(groups), "eval", ignored);
    for (const auto& g : groups)
      add(g, total);
    j.consume(groups);
  }
  const auto n = static_cast<double>(std::max<std::size_t>(1, ids.size()));
  const std::string prefix = "eval/" + std::string{name};
  metrics out{{prefix + "_accuracy", total.correct / n},
              {prefix + "_reward_mean", total.reward / n},
              {prefix + "_prompts", static_cast<double>(ids.size())},
              {prefix + "_completion_tokens_mean", total.tokens / n},
              {"time/eval_s",
               std::chrono::duration<double>(clock::now() - start).count()}};
  for (const auto& [k, sum] : total.pass_at)
    out[prefix + "_pass_at_" + std::to_string(k)] = sum / n;
  return out;
}

} // namespace troupe::runtime::job_api
