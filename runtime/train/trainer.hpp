// SPDX-License-Identifier: Apache-2.0
//
// One optimizer step at a time over packed sequences: supervised, or the
// clipped policy objective. Knows no actors and no files.
#pragma once

#include "runtime/config/job_config.hpp"
#include "runtime/experience/rollout_group.hpp"
#include "runtime/model/decoder.hpp"
#include "runtime/train/adamw_optimizer.hpp"
#include "runtime/train/packing.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::runtime::train {

struct step_result {
  std::map<std::string, double> metrics; ///< keys: outputs/metric_keys.hpp
  std::string skipped; ///< why no update was made; empty: it was made
};

struct trainer_settings {
  config::train_block train; ///< aggregation, clipping, microbatches
  float temperature = 1.0F;  ///< of the rollout that made the groups
};

/// Thread: the compute queue. Numerics: the same bits for the same input,
/// whatever the number of threads; logprobs have the rollout's bits.
class trainer {
public:
  /// `reference` may be null: then kl_coefficient is 0.
  trainer(model::decoder& policy, model::decoder* reference,
          adamw_optimizer& optimizer, trainer_settings settings,
          kernels::thread_pool& pool);

  /// Minimises -sum_t weight_t logprob_t, weight 1 / completion tokens.
  step_result supervised_step(std::span<const sequence> sequences,
                              const config::optimizer_block& optimizer,
                              double learning_rate);

  /// One step on the samples of the groups, in order. `measures_gap`: the
  /// weights are those of the rollout, so |rollout - trainer logprob| is the
  /// difference of two computations, not of two policies.
  /// Shapes: advantages [samples of all groups].
  /// Source: DeepSeekMath, eq. 3 (sequence_mean); DAPO, eq. 10 (token_mean).
  step_result policy_step(
    std::span<const std::shared_ptr<const experience::rollout_group>> groups,
    std::span<const float> advantages, bool measures_gap, double learning_rate);

private:
  step_result apply(std::map<std::string, double> metrics,
                    const config::optimizer_block& optimizer,
                    double learning_rate);

  std::vector<float> reference_logprobs(const packed_rows& rows);

  model::decoder& policy_;
  model::decoder* reference_;
  adamw_optimizer& optimizer_;
  trainer_settings settings_;
  kernels::thread_pool& pool_;
};

} // namespace troupe::runtime::train
