// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/thread_pool.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/config/job_config.hpp"
#include "runtime/model/optimizer.hpp"

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace troupe::runtime::train {

/// AdamW over a model's parameters: two fp32 moments each, kernels::adamw.
/// Thread: the compute queue.
class adamw_optimizer : public model::optimizer {
public:
  adamw_optimizer(std::vector<std::shared_ptr<shard::parameter>> parameters,
                  kernels::thread_pool& pool);

  [[nodiscard]] std::string type_name() const override { return "adamw"; }

  [[nodiscard]] std::vector<std::shared_ptr<shard::parameter>>
  parameters() const override {
    return parameters_;
  }

  /// L2 norms; absent gradients count as 0. In double, in the order of the
  /// parameters.
  struct gradient_norms {
    double all = 0;
    std::map<std::string, double, std::less<>> by_part; ///< part_of_decoder
  };
  [[nodiscard]] gradient_norms norms() const;

  /// One update with gradients times `gradient_scale`, which are 0 afterwards.
  void update(const config::optimizer_block& settings, double learning_rate,
              double gradient_scale);

  /// Gradients become 0.
  void drop_gradients();

  /// A new stage: no moments, step 0.
  void reset();

  /// Completed updates since reset.
  [[nodiscard]] std::int64_t num_updates() const { return num_updates_; }

  /// Views of the moments as "<name>.first" and "<name>.second"; valid until
  /// the next update.
  [[nodiscard]] std::vector<checkpoint::tensor_view> state() const;

  /// Errors: model_mismatch, naming the tensor; nothing has changed then.
  void restore(const checkpoint::safetensors_reader& from,
               std::int64_t num_updates);

private:
  std::vector<std::shared_ptr<shard::parameter>> parameters_;
  kernels::thread_pool& pool_;
  std::vector<torch::Tensor> first_, second_; ///< made at the first update
  std::int64_t num_updates_ = 0;
};

} // namespace troupe::runtime::train
