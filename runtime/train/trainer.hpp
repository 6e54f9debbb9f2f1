// SPDX-License-Identifier: Apache-2.0
//
// One optimizer step at a time over packed sequences: supervised, or the
// clipped policy objective. Knows no actors and no files.
#pragma once

#include "runtime/config/job_config.hpp"
#include "runtime/experience/rollout_group.hpp"
#include "runtime/model/decoder.hpp"
#include "runtime/train/adamw_optimizer.hpp"
#include "runtime/train/policy_columns.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace troupe::runtime::train {

struct step_result {
  std::map<std::string, double> metrics; ///< keys: outputs/metric_keys.hpp
  std::string skipped; ///< why no update was made; empty: it was made
};

struct trainer_settings {
  config::train_block train; ///< the loss and its microbatches
  float temperature = 1.0F;  ///< of the rollout that made the groups
};

/// Thread: the compute queue. Numerics: the same bits for the same input,
/// whatever the number of threads; logprobs have the rollout's bits.
class trainer {
public:
  /// `reference` may be null if kl_coefficient is 0.
  trainer(model::decoder& policy, model::decoder* reference,
          adamw_optimizer& optimizer, trainer_settings settings,
          kernels::thread_pool& pool);

  /// Minimises -sum_t weight_t logprob_t; the weights are those of
  /// loss_aggregation if the algorithm is sft, else 1 / completion tokens.
  step_result supervised_step(std::span<const sequence> sequences,
                              const config::optimizer_block& optimizer,
                              double learning_rate);

  /// Before the first of several steps on the same groups. Keeps the logprobs
  /// of the present weights for them if importance_correction needs them, until
  /// the next call. Returns sum over tokens of the KL estimate of each sample,
  /// policy being the rollout's logprobs; none without a reference. Tokens
  /// whose rollout logprob is not finite count 0.
  std::vector<float> score_groups(group_span groups);

  /// One step on the samples of the groups, in order. `measures_gap`: the
  /// weights are those of the rollout, so |rollout - trainer logprob| is the
  /// difference of two computations, not of two policies.
  /// The ratio is that to the rollout's logprobs; with importance_correction to
  /// those of score_groups, or of the present weights for other groups.
  /// Shapes: advantages [samples of all groups].
  /// Source: kernels/policy_loss.hpp and its neighbours.
  step_result policy_step(group_span groups, std::span<const float> advantages,
                          bool measures_gap, double learning_rate);

private:
  struct policy_batch;

  void backward_of(const policy_batch& batch);
  std::vector<float> score_with(model::decoder& decoder,
                                const packed_rows& rows);

  step_result apply(std::map<std::string, double> metrics,
                    const config::optimizer_block& optimizer,
                    double learning_rate);

  model::decoder& policy_;
  model::decoder* reference_;
  adamw_optimizer& optimizer_;
  trainer_settings settings_;
  kernels::thread_pool& pool_;
  logprob_table old_logprobs_; ///< of the groups of score_groups
};

} // namespace troupe::runtime::train
