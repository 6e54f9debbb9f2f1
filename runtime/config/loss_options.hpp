// SPDX-License-Identifier: Apache-2.0
//
// From the names in a job to the settings of the kernels; the names that a key
// allows are the names here.
#pragma once

#include "kernels/advantage.hpp"
#include "kernels/importance_weights.hpp"
#include "kernels/loss_weights.hpp"
#include "kernels/policy_loss.hpp"
#include "runtime/config/job_config.hpp"

#include <string_view>
#include <vector>

namespace troupe::runtime::config {

/// Errors: config_out_of_range for a name that the kernel does not know.
kernels::advantage_settings advantages_of(const train_block& train);
kernels::loss_weight_settings weights_of(const train_block& train);
kernels::policy_loss_settings policy_loss_of(const train_block& train);
kernels::importance_settings importance_of(const train_block& train);
kernels::kl_estimator kl_estimator_of(const train_block& train);

inline bool has_kl_in_loss(const train_block& train) {
  return train.kl_coefficient > 0 && train.kl_in == "loss";
}
inline bool has_kl_in_reward(const train_block& train) {
  return train.kl_coefficient > 0 && train.kl_in == "reward";
}
inline bool has_importance(const train_block& train) {
  return train.importance_correction != "none";
}
inline bool has_sequence_ratio(const train_block& train) {
  return train.ratio_level == "sequence";
}

/// The names that keys of the train block choose from.
struct loss_names {
  static std::vector<std::string_view> baselines(), scales(), aggregations(),
    objectives(), estimators(), corrections();
};

} // namespace troupe::runtime::config
