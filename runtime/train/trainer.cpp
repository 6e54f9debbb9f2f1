// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/trainer.hpp"

#include "kernels/policy_loss.hpp"
#include "protocols/failure.hpp"
#include "runtime/train/loss_head.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace troupe::runtime::train {

namespace {

model::forward_context context_of(const packed_rows& rows,
                                  kernels::thread_pool& pool) {
  return {pool, rows.positions,
          model::packed_sequences{rows.offsets, rows.prefixes}};
}

/// Columns over all completion tokens of a step, sequence after sequence.
struct token_columns {
  std::vector<float> rollout_logprobs, advantages, weights;
};

/// Sums of a step, in the order of the tokens.
struct step_sums {
  double loss = 0, kl = 0, entropy = 0, gap = 0, gap_max = 0;
  std::int64_t num_clipped_low = 0, num_clipped_high = 0;
};

} // namespace

trainer::trainer(model::decoder& policy, model::decoder* reference,
                 adamw_optimizer& optimizer, trainer_settings settings,
                 kernels::thread_pool& pool)
  : policy_(policy), reference_(reference), optimizer_(optimizer),
    settings_(std::move(settings)), pool_(pool) {}

step_result trainer::supervised_step(std::span<const sequence> sequences,
                                     const config::optimizer_block& optimizer,
                                     double learning_rate) {
  const auto batches = pack(sequences, settings_.train.microbatch_tokens);
  const auto num_tokens = std::accumulate(
    sequences.begin(), sequences.end(), std::size_t{0},
    [](std::size_t n, const auto& s) { return n + s.completion_ids.size(); });
  const auto weight = 1.0F / static_cast<float>(num_tokens);
  step_sums sums;
  for (const auto& batch : batches) {
    const auto hidden = policy_.hidden(batch.ids, context_of(batch, pool_));
    const auto gradient = backward(
      hidden.detach(), policy_.lm_head_weight(), {batch.rows, batch.targets},
      {1.0F, settings_.train.logit_chunk_tokens},
      [&](std::size_t, auto logprobs, auto entropies, auto coefficients) {
        for (std::size_t i = 0; i < logprobs.size(); ++i) {
          sums.loss -= static_cast<double>(weight) * logprobs[i];
          sums.entropy += entropies[i];
          coefficients[i] = -weight;
        }
      },
      pool_);
    hidden.backward(gradient);
  }
  const auto n = static_cast<double>(num_tokens);
  return apply({{"train/loss", sums.loss},
                {"train/entropy", sums.entropy / n},
                {"train/tokens", n}},
               optimizer, learning_rate);
}

step_result trainer::policy_step(
  std::span<const std::shared_ptr<const experience::rollout_group>> groups,
  std::span<const float> advantages, bool measures_gap, double learning_rate) {
  std::vector<sequence> sequences;
  token_columns columns;
  std::size_t sample_index = 0, num_tokens = 0, num_sequences = 0;
  for (const auto& group : groups)
    for (const auto& sample : group->samples) {
      num_tokens += sample.completion_ids.size();
      num_sequences += !sample.completion_ids.empty();
    }
  const bool by_sequence = settings_.train.loss_aggregation == "sequence_mean";
  for (const auto& group : groups)
    for (const auto& sample : group->samples) {
      const float advantage = advantages[sample_index++];
      const auto length = sample.completion_ids.size();
      if (length == 0)
        continue; // aborted before its first token: nothing to train on
      sequences.push_back({group->prompt_ids, sample.completion_ids});
      const double denominator = by_sequence
                                   ? static_cast<double>(num_sequences * length)
                                   : static_cast<double>(num_tokens);
      columns.rollout_logprobs.insert(columns.rollout_logprobs.end(),
                                      sample.rollout_logprobs.begin(),
                                      sample.rollout_logprobs.end());
      columns.advantages.insert(columns.advantages.end(), length, advantage);
      columns.weights.insert(columns.weights.end(), length,
                             static_cast<float>(1.0 / denominator));
    }
  if (sequences.empty())
    return {{{"train/tokens", 0.0}}, "no sample has a completion token"};

  const kernels::policy_loss_settings loss{
    .clip_low = static_cast<float>(settings_.train.clip_low),
    .clip_high = static_cast<float>(settings_.train.clip_high),
    .kl_coefficient = static_cast<float>(settings_.train.kl_coefficient)};
  step_sums sums;
  for (const auto& batch : pack(sequences, settings_.train.microbatch_tokens)) {
    const auto reference = reference_logprobs(batch);
    const auto hidden = policy_.hidden(batch.ids, context_of(batch, pool_));
    const auto gradient = backward(
      hidden.detach(), policy_.lm_head_weight(), {batch.rows, batch.targets},
      {settings_.temperature, settings_.train.logit_chunk_tokens},
      [&](std::size_t begin, auto logprobs, auto entropies, auto coefficients) {
        const auto at = batch.first_token + begin;
        const auto n = logprobs.size();
        const auto part = [&](const std::vector<float>& column) {
          return std::span<const float>{column}.subspan(at, n);
        };
        const auto result = kernels::policy_loss(
          logprobs, part(columns.rollout_logprobs),
          reference.empty()
            ? std::span<const float>{}
            : std::span<const float>{reference}.subspan(begin, n),
          part(columns.advantages), part(columns.weights), loss, coefficients);
        sums.loss += result.loss;
        sums.kl += result.kl;
        sums.num_clipped_low += result.num_clipped_low;
        sums.num_clipped_high += result.num_clipped_high;
        for (std::size_t i = 0; i < n; ++i) {
          const double gap = std::abs(static_cast<double>(logprobs[i])
                                      - columns.rollout_logprobs[at + i]);
          sums.entropy += entropies[i];
          sums.gap += gap;
          sums.gap_max = std::max(sums.gap_max, gap);
        }
      },
      pool_);
    hidden.backward(gradient);
  }
  const auto n = static_cast<double>(num_tokens);
  std::map<std::string, double> metrics{
    {"train/loss", sums.loss},
    {"train/entropy", sums.entropy / n},
    {"train/tokens", n},
    {"train/clip_fraction_low", static_cast<double>(sums.num_clipped_low) / n},
    {"train/clip_fraction_high",
     static_cast<double>(sums.num_clipped_high) / n}};
  if (reference_)
    metrics["train/kl"] = sums.kl;
  if (measures_gap) {
    metrics["rollout/logprob_gap_mean"] = sums.gap / n;
    metrics["rollout/logprob_gap_max"] = sums.gap_max;
  }
  return apply(std::move(metrics), settings_.train.optimizer, learning_rate);
}

std::vector<float> trainer::reference_logprobs(const packed_rows& rows) {
  if (!reference_)
    return {};
  const at::NoGradGuard no_gradients;
  const auto hidden = reference_->hidden(rows.ids, context_of(rows, pool_));
  return score(hidden, reference_->lm_head_weight(), {rows.rows, rows.targets},
               {settings_.temperature, settings_.train.logit_chunk_tokens},
               pool_);
}

step_result trainer::apply(std::map<std::string, double> metrics,
                           const config::optimizer_block& optimizer,
                           double learning_rate) {
  const double norm = optimizer_.gradient_norm();
  metrics["train/grad_norm"] = norm;
  const double loss = metrics.at("train/loss");
  if (!std::isfinite(loss) || !std::isfinite(norm)) {
    optimizer_.drop_gradients();
    return {std::move(metrics), !std::isfinite(loss)
                                  ? "train/loss is not finite"
                                  : "train/grad_norm is not finite"};
  }
  const double limit = optimizer.max_grad_norm;
  // As torch.nn.utils.clip_grad_norm_: limit / (norm + 1e-6), at most 1.
  const double scale = limit > 0 ? std::min(1.0, limit / (norm + 1e-6)) : 1.0;
  optimizer_.update(optimizer, learning_rate, scale);
  return {std::move(metrics), {}};
}

} // namespace troupe::runtime::train
