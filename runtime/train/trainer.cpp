// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/trainer.hpp"

#include "kernels/importance_weights.hpp"
#include "kernels/loss_weights.hpp"
#include "kernels/policy_loss.hpp"
#include "kernels/sequence_ratio.hpp"
#include "protocols/failure.hpp"
#include "runtime/config/loss_options.hpp"
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

loss_head_settings head_of(const model::decoder& decoder, float temperature,
                           const config::train_block& train) {
  return {.temperature = temperature,
          .chunk_tokens = train.logit_chunk_tokens,
          .softcap = static_cast<float>(decoder.config().logit_softcap)};
}

/// Sums of a step, in the order of the tokens.
struct step_sums {
  double loss = 0, kl = 0, entropy = 0, gap = 0, gap_max = 0, importance = 0;
  std::int64_t num_clipped_low = 0, num_clipped_high = 0, num_dual_clipped = 0,
               num_bounded = 0;
};

std::span<const float> part(std::span<const float> column, std::size_t begin,
                            std::size_t count) {
  return column.empty() ? column : column.subspan(begin, count);
}

double share(std::int64_t count, std::int64_t of) {
  return static_cast<double>(count) / static_cast<double>(of);
}

} // namespace

struct trainer::policy_batch {
  const packed_rows& rows;
  columns_of_batch columns;
  float entropy_slope; ///< of a token that counts
  step_sums& sums;
};

trainer::trainer(model::decoder& policy, model::decoder* reference,
                 adamw_optimizer& optimizer, trainer_settings settings,
                 kernels::thread_pool& pool)
  : policy_(policy), reference_(reference), optimizer_(optimizer),
    settings_(std::move(settings)), pool_(pool) {}

step_result trainer::supervised_step(std::span<const sequence> sequences,
                                     const config::optimizer_block& optimizer,
                                     double learning_rate) {
  const auto batches = pack(sequences, settings_.train.microbatch_tokens);
  std::vector<std::int64_t> lengths;
  for (const auto& s : sequences)
    lengths.push_back(static_cast<std::int64_t>(s.completion_ids.size()));
  const std::vector<std::uint8_t> mask(
    static_cast<std::size_t>(
      std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})),
    1);
  std::vector<float> weights(mask.size());
  // The aggregation of a grpo job is not that of its warm-up.
  kernels::loss_weights(mask, lengths,
                        settings_.train.algorithm == "sft"
                          ? config::weights_of(settings_.train)
                          : kernels::loss_weight_settings{},
                        weights);
  step_sums sums;
  for (const auto& batch : batches) {
    const auto hidden = policy_.hidden(batch.ids, context_of(batch, pool_));
    const auto gradient = backward(
      hidden.detach(), policy_.lm_head_weight(), {batch.rows, batch.targets},
      head_of(policy_, 1.0F, settings_.train),
      [&](std::size_t begin, auto logprobs, auto entropies, auto coefficients) {
        for (std::size_t i = 0; i < logprobs.size(); ++i) {
          const float weight = weights[batch.first_token + begin + i];
          sums.loss -= static_cast<double>(weight) * logprobs[i];
          sums.entropy += entropies[i];
          coefficients[i] = -weight;
        }
      },
      pool_);
    if (hidden.requires_grad()) // not if all below the head is frozen
      hidden.backward(gradient);
  }
  const auto n = static_cast<double>(mask.size());
  return apply({{"train/loss", sums.loss},
                {"train/entropy", sums.entropy / n},
                {"train/tokens", n}},
               optimizer, learning_rate);
}

step_result trainer::policy_step(group_span groups,
                                 std::span<const float> advantages,
                                 bool measures_gap, double learning_rate) {
  const auto& train = settings_.train;
  const auto columns = make_columns(groups, advantages, train, old_logprobs_);
  std::map<std::string, double> metrics{
    {"train/tokens", static_cast<double>(columns.num_tokens)},
    {"train/nonfinite_logprobs", static_cast<double>(columns.num_nonfinite)}};
  if (train.overlong_filter)
    metrics["train/overlong_samples"] =
      static_cast<double>(columns.num_overlong);
  if (columns.num_tokens == 0)
    return {std::move(metrics), columns.reason_if_empty()};

  step_sums sums;
  const auto n = static_cast<double>(columns.num_tokens);
  std::size_t first_sequence = 0;
  for (const auto& batch : pack(columns.sequences, train.microbatch_tokens)) {
    const auto own = part_of(columns, batch, first_sequence);
    first_sequence += own.lengths.size();
    backward_of(
      {batch, own, static_cast<float>(-train.entropy_coefficient / n), sums});
  }
  metrics["train/entropy"] = sums.entropy / n;
  metrics["train/loss"] = sums.loss;
  if (train.entropy_coefficient > 0)
    metrics["train/loss"] -=
      train.entropy_coefficient * metrics["train/entropy"];
  metrics["train/clip_fraction_low"] =
    share(sums.num_clipped_low, columns.num_tokens);
  metrics["train/clip_fraction_high"] =
    share(sums.num_clipped_high, columns.num_tokens);
  if (train.dual_clip > 0)
    metrics["train/clip_fraction_dual"] =
      share(sums.num_dual_clipped, columns.num_tokens);
  if (config::has_importance(train)) {
    metrics["train/importance_mean"] = sums.importance / n;
    metrics["train/importance_bounded_fraction"] =
      share(sums.num_bounded, columns.num_tokens);
  }
  if (config::has_kl_in_loss(train))
    metrics["train/kl"] = sums.kl;
  if (measures_gap) {
    metrics["rollout/logprob_gap_mean"] = sums.gap / n;
    metrics["rollout/logprob_gap_max"] = sums.gap_max;
  }
  return apply(std::move(metrics), train.optimizer, learning_rate);
}

void trainer::backward_of(const policy_batch& batch) {
  const auto& train = settings_.train;
  const auto& [rows, columns, entropy_slope, sums] = batch;
  const auto num_tokens = rows.targets.size();
  auto head = head_of(policy_, settings_.temperature, train);
  const auto reference = config::has_kl_in_loss(train)
                           ? score_with(*reference_, rows)
                           : std::vector<float>{};
  const auto hidden = policy_.hidden(rows.ids, context_of(rows, pool_));

  // What a sequence decides is computed before the chunks are.
  const bool has_importance = config::has_importance(train);
  std::vector<float> present, importance;
  std::vector<double> log_ratios;
  if (config::has_sequence_ratio(train)
      || (has_importance && columns.old_logprobs.empty()))
    present = score(hidden.detach(), policy_.lm_head_weight(),
                    {rows.rows, rows.targets}, head, pool_);
  const auto old = !has_importance ? columns.rollout_logprobs
                   : columns.old_logprobs.empty()
                     ? std::span<const float>{present}
                     : columns.old_logprobs;
  if (has_importance) {
    importance.resize(num_tokens);
    const auto counts = kernels::importance_weights(
      old, columns.rollout_logprobs, columns.weights, columns.lengths,
      config::importance_of(train), importance);
    sums.importance += counts.total;
    sums.num_bounded += counts.num_bounded;
  }
  if (config::has_sequence_ratio(train)) {
    log_ratios.resize(num_tokens);
    kernels::sequence_log_ratios(present, old, columns.weights, columns.lengths,
                                 log_ratios);
  }
  std::vector<float> entropy_slopes;
  if (entropy_slope != 0)
    for (const float weight : columns.weights)
      entropy_slopes.push_back(weight != 0 ? entropy_slope : 0.0F);
  head.entropy_slopes = entropy_slopes;

  const auto loss = config::policy_loss_of(train);
  const auto gradient = backward(
    hidden.detach(), policy_.lm_head_weight(), {rows.rows, rows.targets}, head,
    [&](std::size_t begin, auto logprobs, auto entropies, auto coefficients) {
      const auto n = logprobs.size();
      const auto rollout = part(columns.rollout_logprobs, begin, n);
      const auto weights = part(columns.weights, begin, n);
      const auto result = kernels::policy_loss(
        {.new_logprobs = logprobs,
         .old_logprobs = part(old, begin, n),
         .reference_logprobs = part(reference, begin, n),
         .advantages = part(columns.advantages, begin, n),
         .weights = weights,
         .importance_weights = part(importance, begin, n),
         .log_ratios =
           log_ratios.empty()
             ? std::span<const double>{}
             : std::span<const double>{log_ratios}.subspan(begin, n)},
        loss, coefficients);
      sums.loss += result.loss;
      sums.kl += result.kl;
      sums.num_clipped_low += result.num_clipped_low;
      sums.num_clipped_high += result.num_clipped_high;
      sums.num_dual_clipped += result.num_dual_clipped;
      for (std::size_t i = 0; i < n; ++i) {
        if (weights[i] == 0)
          continue;
        const double gap =
          std::abs(static_cast<double>(logprobs[i]) - rollout[i]);
        sums.entropy += entropies[i];
        sums.gap += gap;
        sums.gap_max = std::max(sums.gap_max, gap);
      }
    },
    pool_);
  if (hidden.requires_grad())
    hidden.backward(gradient);
}

std::vector<float> trainer::score_groups(group_span groups) {
  const auto& train = settings_.train;
  std::vector<sequence> sequences;
  std::vector<std::pair<std::vector<float>*, const experience::sample*>> to;
  std::vector<std::size_t> sample_of;
  std::vector<float> divergences;
  old_logprobs_.clear();
  for (const auto& group : groups) {
    auto& of_group = old_logprobs_[group->id];
    of_group.resize(group->samples.size());
    for (std::size_t s = 0; s < group->samples.size(); ++s) {
      divergences.push_back(0);
      if (group->samples[s].completion_ids.empty())
        continue;
      sequences.push_back(
        {group->prompt_ids, group->samples[s].completion_ids});
      to.emplace_back(&of_group[s], &group->samples[s]);
      sample_of.push_back(divergences.size() - 1);
    }
  }
  std::size_t next = 0; // sequence
  for (const auto& rows : pack(sequences, train.microbatch_tokens)) {
    const auto present = config::has_importance(train)
                           ? score_with(policy_, rows)
                           : std::vector<float>{};
    const auto reference =
      reference_ ? score_with(*reference_, rows) : std::vector<float>{};
    std::size_t begin = 0;
    for (std::size_t i = 0; i < rows.prefixes.size(); ++i, ++next) {
      const auto& sample = *to[next].second;
      const auto n = sample.completion_ids.size();
      const auto kept = part(present, begin, n);
      to[next].first->assign(kept.begin(), kept.end());
      double total = 0;
      for (std::size_t t = 0; t < n && reference_; ++t)
        if (std::isfinite(sample.rollout_logprobs[t]))
          total += kernels::kl_estimate(
                     config::kl_estimator_of(train),
                     static_cast<double>(sample.rollout_logprobs[t]),
                     static_cast<double>(reference[begin + t]))
                     .value;
      divergences[sample_of[next]] = static_cast<float>(total);
      begin += n;
    }
  }
  if (!config::has_importance(train))
    old_logprobs_.clear();
  return reference_ ? divergences : std::vector<float>{};
}

std::vector<float> trainer::score_with(model::decoder& decoder,
                                       const packed_rows& rows) {
  const at::NoGradGuard no_gradients;
  const auto hidden = decoder.hidden(rows.ids, context_of(rows, pool_));
  return score(hidden, decoder.lm_head_weight(), {rows.rows, rows.targets},
               head_of(decoder, settings_.temperature, settings_.train), pool_);
}

step_result trainer::apply(std::map<std::string, double> metrics,
                           const config::optimizer_block& optimizer,
                           double learning_rate) {
  const auto norms = optimizer_.norms();
  const double norm = norms.all;
  metrics["train/grad_norm"] = norm;
  for (const auto& [part, of_part] : norms.by_part)
    metrics["train/grad_norm_" + part] = of_part;
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
