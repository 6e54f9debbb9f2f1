// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/loss_options.hpp"

#include "protocols/failure.hpp"

#include <array>
#include <string>
#include <utility>

namespace troupe::runtime::config {

namespace {

template <class Value, std::size_t Size>
using name_table = std::array<std::pair<std::string_view, Value>, Size>;

using baseline = kernels::advantage_baseline;
constexpr name_table<baseline, 2> baseline_table{{
  {"group_mean", baseline::group_mean},
  {"leave_one_out", baseline::leave_one_out},
}};

using scale = kernels::advantage_scale;
constexpr name_table<scale, 4> scale_table{{
  {"group_std", scale::group_std},
  {"none", scale::none},
  {"batch_std", scale::batch_std},
  {"batch_advantage_std", scale::batch_advantage_std},
}};

using aggregation = kernels::loss_aggregation;
constexpr name_table<aggregation, 4> aggregation_table{{
  {"token_mean", aggregation::token_mean},
  {"sequence_mean", aggregation::sequence_mean},
  {"fixed_length", aggregation::fixed_length},
  {"sequence_sum", aggregation::sequence_sum},
}};

using objective = kernels::policy_objective;
constexpr name_table<objective, 2> objective_table{{
  {"clipped", objective::clipped},
  {"cispo", objective::cispo},
}};

using estimator = kernels::kl_estimator;
constexpr name_table<estimator, 3> estimator_table{{
  {"k1", estimator::k1},
  {"k2", estimator::k2},
  {"k3", estimator::k3},
}};

using correction = kernels::importance_correction;
constexpr name_table<correction, 5> correction_table{{
  {"none", correction::none},
  {"token_truncate", correction::token_truncate},
  {"token_mask", correction::token_mask},
  {"sequence_truncate", correction::sequence_truncate},
  {"sequence_mask", correction::sequence_mask},
}};

template <class Table>
auto value_of(const Table& table, const char* key, const std::string& name) {
  for (const auto& [known, value] : table)
    if (known == name)
      return value;
  throw protocols::failure{protocols::errc::config_out_of_range,
                           std::string{key} + " is \"" + name
                             + "\", which the losses do not know"};
}

template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> out;
  for (const auto& [name, value] : table)
    out.push_back(name);
  return out;
}

} // namespace

kernels::advantage_settings advantages_of(const train_block& train) {
  return {
    value_of(baseline_table, "train.advantage_baseline",
             train.advantage_baseline),
    value_of(scale_table, "train.advantage_scale", train.advantage_scale)};
}

kernels::loss_weight_settings weights_of(const train_block& train) {
  return {value_of(aggregation_table, "train.loss_aggregation",
                   train.loss_aggregation),
          train.loss_length_tokens};
}

kernels::kl_estimator kl_estimator_of(const train_block& train) {
  return value_of(estimator_table, "train.kl_estimator", train.kl_estimator);
}

kernels::policy_loss_settings policy_loss_of(const train_block& train) {
  return {.objective =
            value_of(objective_table, "train.policy_loss", train.policy_loss),
          .clip_low = static_cast<float>(train.clip_low),
          .clip_high = static_cast<float>(train.clip_high),
          .dual_clip = static_cast<float>(train.dual_clip),
          .kl_coefficient = has_kl_in_loss(train)
                              ? static_cast<float>(train.kl_coefficient)
                              : 0.0F,
          .kl = kl_estimator_of(train)};
}

kernels::importance_settings importance_of(const train_block& train) {
  return {value_of(correction_table, "train.importance_correction",
                   train.importance_correction),
          static_cast<float>(train.importance_min),
          static_cast<float>(train.importance_max)};
}

std::vector<std::string_view> loss_names::baselines() {
  return names_of(baseline_table);
}
std::vector<std::string_view> loss_names::scales() {
  return names_of(scale_table);
}
std::vector<std::string_view> loss_names::aggregations() {
  return names_of(aggregation_table);
}
std::vector<std::string_view> loss_names::objectives() {
  return names_of(objective_table);
}
std::vector<std::string_view> loss_names::estimators() {
  return names_of(estimator_table);
}
std::vector<std::string_view> loss_names::corrections() {
  return names_of(correction_table);
}

} // namespace troupe::runtime::config
