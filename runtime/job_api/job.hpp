// SPDX-License-Identifier: Apache-2.0
//
// The surface through which a loop drives a job: the built-in loops use nothing
// else, a script binds the same. Ids, counts and rewards come through here;
// tokens, logprobs and texts stay where they were made.
//
// Thread: every call blocks the calling thread, at most until its deadline
// (runtime/config/deadlines.hpp), and is made from one thread only.
// Errors: every call throws protocols::failure. After `shutting_down` or
// `aborted` no further work is accepted; `save` still is after the former.
#pragma once

#include "protocols/failure.hpp"
#include "protocols/ids.hpp"
#include "runtime/config/job_config.hpp"
#include "runtime/experience/rollout_group.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::job_api {

using metrics = std::map<std::string, double>; ///< keys: outputs/metric_keys

/// What is known of a generated group without its columns.
struct group {
  protocols::group_id id;
  std::uint32_t num_prompt_tokens = 0;
  std::vector<std::uint32_t> num_tokens; ///< one a sample
  std::vector<experience::finish_reason> finish;
  protocols::policy_version min_version = 0, max_version = 0;
  std::vector<float> rewards; ///< after `grade`; one a sample
};

struct generate_options {
  std::string split = "train"; ///< or the name of an evaluation
  std::uint32_t num_samples = 1;
  config::sampling_block sampling;
};

struct trained {
  protocols::policy_version version = 0;
  metrics values;
  std::string skipped; ///< why no update was made; empty: it was made
};

/// One of the updates on a rollout batch.
struct train_options {
  std::uint32_t minibatch = 0; ///< of the batch, counted over its epochs
  std::uint32_t num_later = 0; ///< updates on the same groups after this one
  double learning_rate = 0;
};

struct job_info {
  std::uint64_t num_parameters = 0;
  protocols::policy_version version = 0;
  std::string loop_state;         ///< as given to `save`; empty in a new run
  std::int64_t resumed_step = -1; ///< -1 in a new run
};

struct data_position {
  std::uint32_t data_pass = 0, position = 0;
};

class job {
public:
  virtual ~job() = default;

  [[nodiscard]] virtual const config::job_config& config() const = 0;

  /// Waits until the ranks hold the model.
  virtual job_info open() = 0;

  /// Returns the next rows of "train", or the first `count` of "eval".
  virtual std::vector<protocols::group_id> take_prompts(std::string_view split,
                                                        std::size_t count) = 0;

  /// Samples num_samples completions a prompt. Adds to `values`.
  virtual std::vector<group> generate(const std::vector<protocols::group_id>&,
                                      const generate_options& options,
                                      metrics& values) = 0;

  /// Fills in the rewards. Groups with a failed sample and `on_error: drop`
  /// are left out of the result. Adds to `values`.
  virtual std::vector<group> grade(std::vector<group> groups,
                                   std::string_view split, metrics& values) = 0;

  /// Before the first update on these groups: keeps what later updates compare
  /// with (train.importance_correction). Returns the KL estimate to the
  /// reference model, summed over the tokens of each sample in order; empty
  /// without one.
  virtual std::vector<float> score(const std::vector<group>& groups) = 0;

  /// One optimizer step on these groups; advantages: samples in order. `step`
  /// here and below: of the whole run, from 1.
  virtual trained train(std::int64_t step, const std::vector<group>& groups,
                        const std::vector<float>& advantages,
                        const train_options& options) = 0;

  /// One supervised step on these rows.
  virtual trained train_supervised(std::int64_t step,
                                   const std::vector<protocols::group_id>& rows,
                                   double learning_rate) = 0;

  /// The groups' columns may be dropped.
  virtual void consume(const std::vector<group>& groups) = 0;

  /// These graded groups will not be trained on.
  virtual void discard(const std::vector<group>& groups) = 0;

  /// Where the training data stands, and back to it.
  virtual data_position position() = 0;
  virtual void seek(data_position to) = 0;

  /// Writes and seals a checkpoint of `step` completed steps. Returns its
  /// folder.
  virtual std::string save(std::int64_t step,
                           const std::string& loop_state) = 0;

  /// Writes the trained model as a Hugging Face folder. Returns the folder.
  virtual std::string export_model() = 0;

  /// Into metrics.jsonl, TensorBoard and the progress line.
  virtual void log(std::int64_t step, std::string_view stage,
                   const metrics& values) = 0;

  /// Some groups with their texts into rollouts.jsonl.
  virtual void log_rollouts(std::int64_t step, const std::vector<group>& groups,
                            const std::vector<float>& advantages) = 0;

  /// A line for people, as in "constant reward: ...".
  virtual void say(std::string_view line) = 0;

  /// True after the first Ctrl-C: the loop ends its step, saves and returns.
  [[nodiscard]] virtual bool is_stopping() const = 0;
};

} // namespace troupe::runtime::job_api
