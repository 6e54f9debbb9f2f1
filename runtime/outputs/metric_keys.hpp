// SPDX-License-Identifier: Apache-2.0
//
// Every metric that a job may write; docs/metrics.md is this table. In a key,
// <word> stands for one piece of lower-case letters, digits, "_" and "-"; where
// two rows fit a key, the first one counts.
#pragma once

#include <array>
#include <string_view>

namespace troupe::runtime::outputs {

struct metric_key {
  std::string_view key;
  std::string_view unit;
  std::string_view definition;
};

inline constexpr std::array metric_keys{
  metric_key{"train/loss", "nats",
             "loss of the step, mean over its updates: policy loss plus "
             "kl_coefficient times train/kl minus entropy_coefficient times "
             "train/entropy; under SFT and in the warm-up negative logprob of "
             "the completion tokens, aggregated likewise"},
  metric_key{"train/kl", "nats",
             "train.kl_estimator over completion tokens, aggregated as the "
             "loss is; only with kl_coefficient > 0 and kl_in: loss"},
  metric_key{"train/entropy", "nats",
             "mean entropy of the trainer's distribution at completion tokens"},
  metric_key{"train/clip_fraction_low", "1",
             "share of completion tokens with ratio < 1 - clip_low and "
             "advantage < 0: no gradient; under cispo, whatever the advantage, "
             "those whose weight the bound sets"},
  metric_key{"train/clip_fraction_high", "1",
             "share of completion tokens with ratio > 1 + clip_high and "
             "advantage > 0: no gradient; under cispo as above"},
  metric_key{"train/clip_fraction_dual", "1",
             "share of completion tokens with advantage < 0 and ratio > "
             "dual_clip: no gradient; only with dual_clip > 0"},
  metric_key{"train/importance_mean", "1",
             "mean over completion tokens of the weight of "
             "train.importance_correction"},
  metric_key{"train/importance_bounded_fraction", "1",
             "share of completion tokens whose weight was clamped or masked"},
  metric_key{"train/nonfinite_logprobs", "tokens",
             "completion tokens left out of the loss because their rollout "
             "logprob is not finite, over the step's updates"},
  metric_key{"train/overlong_samples", "samples",
             "samples left out of the loss by train.overlong_filter, over the "
             "step's updates"},
  metric_key{"train/grad_norm", "1",
             "L2 norm of all gradients before clipping, mean over the step's "
             "updates"},
  metric_key{"train/grad_norm_<word>", "1",
             "the same of one part of the model: attention, mlp, norm, "
             "embedding, lm_head, other"},
  metric_key{"train/learning_rate", "1", "learning rate of the last update"},
  metric_key{"train/tokens", "tokens",
             "completion tokens in the losses, over the step's updates"},
  metric_key{"train/skipped_steps", "steps",
             "optimizer steps left out since the start because the loss or a "
             "gradient was not finite"},
  metric_key{"train/policy_version", "steps",
             "optimizer steps in the weights after this step"},
  metric_key{"rollout/logprob_gap_mean", "nats",
             "mean over completion tokens of |rollout logprob - trainer "
             "logprob| at the same weights"},
  metric_key{"rollout/logprob_gap_max", "nats",
             "largest |rollout logprob - trainer logprob| of the step"},
  metric_key{"rollout/completion_tokens_mean", "tokens",
             "mean length of a completion, its stop token counted"},
  metric_key{"rollout/completion_tokens_max", "tokens",
             "length of the longest completion"},
  metric_key{"rollout/prompt_tokens_mean", "tokens", "mean length of a prompt"},
  metric_key{"rollout/truncated_fraction", "1",
             "share of completions that ended by max_new_tokens"},
  metric_key{"rollout/tokens", "tokens", "completion tokens sampled"},
  metric_key{"reward/mean", "1", "mean reward over the step's samples"},
  metric_key{"reward/std", "1",
             "standard deviation (n - 1) over the step's samples"},
  metric_key{"reward/min", "1", "smallest reward of the step"},
  metric_key{"reward/max", "1", "largest reward of the step"},
  metric_key{"reward/zero_spread_fraction", "1",
             "share of the step's groups, resampled ones too, whose rewards "
             "are all equal"},
  metric_key{"reward/resample_rounds", "rounds",
             "times that further prompts were taken for groups without spread; "
             "only with train.max_resample_rounds > 0. Other means over "
             "samples are then those of the first round"},
  metric_key{"reward/resampled_groups", "groups",
             "groups that were left out for equal rewards"},
  metric_key{"reward/nonfinite", "samples",
             "rewards that are not finite: they count in no baseline and have "
             "the advantage 0"},
  metric_key{"reward/overlong_penalty_mean", "1",
             "mean over samples of what train.overlong_margin_tokens adds to "
             "the reward; reward/mean is before it"},
  metric_key{"reward/kl_penalty_mean", "1",
             "mean over samples of what kl_in: reward adds to the reward"},
  metric_key{"reward/failed_fraction", "1",
             "share of samples whose reward function failed"},
  metric_key{"time/<phase>_s", "s",
             "wall time of a phase of the step: generate, grade, score, train, "
             "and step for the whole; of an evaluation: eval"},
  metric_key{"throughput/tokens_per_s", "tokens/s",
             "completion tokens of the step (sampled, or under SFT and in the "
             "warm-up trained on) by time/step_s"},
  metric_key{"memory/<process>_rss_bytes", "bytes",
             "resident memory of a process at the end of the step"},
  metric_key{
    "eval/<name>_accuracy", "1",
    "share of completions with a reward of at least 1, mean over "
    "eval.samples_per_prompt and rows; <name> is the data set, heldout "
    "for data.eval"},
  metric_key{"eval/<name>_pass_at_<word>", "1",
             "chance that one of so many completions of a row has a reward of "
             "at least 1, for each of eval.pass_at"},
  metric_key{"eval/<name>_reward_mean", "1",
             "mean reward over the evaluated prompts"},
  metric_key{"eval/<name>_prompts", "prompts", "prompts evaluated"},
  metric_key{"eval/<name>_completion_tokens_mean", "tokens",
             "mean length of an evaluated completion"},
};

constexpr bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'
         || c == '-';
}

/// True if `key` has the form of `pattern`.
constexpr bool matches_key(std::string_view pattern, std::string_view key) {
  const auto open = pattern.find('<');
  if (open == std::string_view::npos)
    return key == pattern;
  if (!key.starts_with(pattern.substr(0, open)))
    return false;
  const auto rest = pattern.substr(pattern.find('>') + 1);
  for (auto end = open; end < key.size() && is_of_word(key[end]); ++end)
    if (matches_key(rest, key.substr(end + 1)))
      return true;
  return false;
}

/// Returns the row of a key, or nullptr if the table lists none.
constexpr const metric_key* find_metric_key(std::string_view key) {
  for (const auto& row : metric_keys)
    if (matches_key(row.key, key))
      return &row;
  return nullptr;
}

} // namespace troupe::runtime::outputs
