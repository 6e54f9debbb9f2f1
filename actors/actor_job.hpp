// SPDX-License-Identifier: Apache-2.0
//
// The job's surface over actors: the loop's thread waits here, an actor of its
// own ("loop") asks. A wait ends with the reply, the deadline, or the end of
// the job, whichever comes first.
#pragma once

#include "actors/control_context.hpp"
#include "actors/job_link.hpp"
#include "protocols/interfaces.hpp"
#include "runtime/job_api/job.hpp"
#include "runtime/outputs/metrics_writer.hpp"
#include "runtime/outputs/progress_line.hpp"
#include "runtime/outputs/rollouts_writer.hpp"
#include "runtime/outputs/tensorboard_writer.hpp"

#include <caf/actor_system.hpp>

#include <memory>

namespace troupe::actors {

/// Where a loop's words go.
struct job_outputs {
  runtime::outputs::metrics_writer& metrics;
  runtime::outputs::tensorboard_writer& tensorboard;
  runtime::outputs::rollouts_writer& rollouts;
  runtime::outputs::progress_line& progress;
};

class actor_job : public runtime::job_api::job {
public:
  /// `outputs` may be null: then log, log_rollouts and say do nothing.
  /// `resumed_step`: -1 in a new run.
  actor_job(caf::actor_system& system, control_context& control,
            std::shared_ptr<job_link> link,
            const protocols::coordinator_actor& coordinator,
            job_outputs* outputs, std::int64_t resumed_step);
  ~actor_job() override;

  const runtime::config::job_config& config() const override;
  runtime::job_api::job_info open() override;
  std::vector<protocols::group_id> take_prompts(std::string_view split,
                                                std::size_t count) override;
  std::vector<runtime::job_api::group>
  generate(const std::vector<protocols::group_id>& ids,
           const runtime::job_api::generate_options& options,
           runtime::job_api::metrics& values) override;
  std::vector<runtime::job_api::group>
  grade(std::vector<runtime::job_api::group> groups, std::string_view split,
        runtime::job_api::metrics& values) override;
  runtime::job_api::trained
  train(std::int64_t step, const std::vector<runtime::job_api::group>& groups,
        const std::vector<float>& advantages,
        const runtime::job_api::train_options& options) override;
  std::vector<float>
  score(const std::vector<runtime::job_api::group>& groups) override;
  runtime::job_api::trained
  train_supervised(std::int64_t step,
                   const std::vector<protocols::group_id>& rows,
                   double learning_rate) override;
  void consume(const std::vector<runtime::job_api::group>& groups) override;
  void discard(const std::vector<runtime::job_api::group>& groups) override;
  runtime::job_api::data_position position() override;
  void seek(runtime::job_api::data_position to) override;
  std::string save(std::int64_t step, const std::string& loop_state) override;
  std::string export_model() override;
  void log(std::int64_t step, std::string_view stage,
           const runtime::job_api::metrics& values) override;
  void log_rollouts(std::int64_t step,
                    const std::vector<runtime::job_api::group>& groups,
                    const std::vector<float>& advantages) override;
  void say(std::string_view line) override;
  bool is_stopping() const override;

  /// Runs the ordered shutdown. `why`: the failure that ended the loop, or
  /// null. Returns the teardown's own fault, if there was one.
  std::optional<protocols::failure> close(const protocols::failure* why);

  /// True after open(): the model is loaded, the reward functions, too.
  [[nodiscard]] bool is_open() const;

  /// The newest checkpoint and the final model of this run, "" if none.
  [[nodiscard]] const std::string& last_checkpoint() const;
  [[nodiscard]] const std::string& final_model() const;
  [[nodiscard]] protocols::policy_version version() const;
  [[nodiscard]] std::int64_t last_saved_step() const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace troupe::actors
