// SPDX-License-Identifier: Apache-2.0
//
// Everything of a rank that holds weights: the policy under its engine, the
// reference of a KL penalty, the optimizer, the trainer. Made from a job and,
// on resume, from a sealed checkpoint.
#pragma once

#include "kernels/thread_pool.hpp"
#include "protocols/ids.hpp"
#include "runtime/config/job_config.hpp"
#include "runtime/model/decoder.hpp"
#include "runtime/model/engine.hpp"
#include "runtime/train/adamw_optimizer.hpp"
#include "runtime/train/trainer.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace troupe::runtime::train {

/// Names of a rank's files in a checkpoint folder.
namespace checkpoint_files {
inline constexpr const char* weights = "model.safetensors";
inline constexpr const char* moments = "optimizer.safetensors";
inline constexpr const char* state = "rank-0.json";
} // namespace checkpoint_files

/// Whether gradients and moments will be needed.
enum class model_use : std::uint8_t { generate_only, train };

/// Thread: the compute queue, but for what is said to be constant.
class rank_model {
public:
  /// `resume_from`: a sealed checkpoint's folder, or empty.
  /// Errors: model_*, plugin_refused, checkpoint_mismatch.
  rank_model(const config::job_config& job, model_use use,
             const std::filesystem::path& resume_from,
             kernels::thread_pool& pool);

  [[nodiscard]] const std::shared_ptr<model::decoder>& policy() const {
    return policy_;
  }
  [[nodiscard]] trainer& training() { return *trainer_; }
  [[nodiscard]] adamw_optimizer& optimizer() { return *optimizer_; }

  /// Constant.
  [[nodiscard]] const model::decoder_config& config() const {
    return policy_->config();
  }
  [[nodiscard]] std::uint64_t num_parameters() const;

  /// Those that have gradient and moments; of model_use::train.
  [[nodiscard]] std::uint64_t num_trained_parameters() const;

  /// Optimizer steps in the weights, and the stage that made the last.
  protocols::policy_version version = 0;
  std::uint8_t stage = 0;

  /// Starts a stage: another one than the last begins without moments.
  void enter_stage(std::uint8_t next);

  /// Writes the files of checkpoint_files into `folder` and returns their
  /// names. Nobody writes to the weights meanwhile. Thread: any one.
  /// Errors: io_failed.
  std::vector<std::string> write(const std::filesystem::path& folder) const;

  /// Writes a Hugging Face folder. As above.
  void export_to(const std::filesystem::path& folder) const;

private:
  void restore(const std::filesystem::path& folder);

  std::string tokenizer_folder_;
  model::module_registry registry_;
  std::shared_ptr<model::decoder> policy_, reference_;
  std::shared_ptr<adamw_optimizer> optimizer_;
  std::unique_ptr<model::engine> engine_;
  std::unique_ptr<trainer> trainer_;
};

} // namespace troupe::runtime::train
