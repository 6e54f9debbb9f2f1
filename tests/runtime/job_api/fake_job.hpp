// SPDX-License-Identifier: Apache-2.0
//
// A job that does nothing but write down what it is asked for, one line a call,
// and answer as the real one would. Data: 5 rows a pass.
#pragma once

#include "runtime/job_api/job.hpp"

#include <functional>
#include <string>
#include <vector>

namespace troupe::runtime::job_api {

class fake_job : public job {
public:
  // -- what a test sets -------------------------------------------------------
  config::job_config settings;
  job_info info;
  /// Called first in every call but log and say, with its number.
  std::function<void(std::size_t)> before_call = [](std::size_t) {};
  std::function<float(std::uint32_t sample)> reward = [](std::uint32_t sample) {
    return static_cast<float>(sample % 2);
  };
  std::function<std::string()> skipped = [] { return std::string{}; };
  std::size_t num_dropped = 0;    ///< groups that grading leaves out
  std::vector<float> divergences; ///< what `score` returns
  bool stopping = false;

  // -- what a test reads ------------------------------------------------------
  std::vector<std::string> calls, said;
  std::vector<metrics> logged;
  std::vector<float> last_advantages;
  std::vector<std::string> states; ///< given to save
  std::size_t num_calls = 0;
  data_position at;
  protocols::policy_version version = 0;

  /// The calls whose line begins so.
  [[nodiscard]] std::vector<std::string>
  calls_of(std::string_view prefix) const {
    std::vector<std::string> out;
    for (const auto& c : calls)
      if (c.starts_with(prefix))
        out.push_back(c);
    return out;
  }

  // -- job --------------------------------------------------------------------
  [[nodiscard]] const config::job_config& config() const override {
    return settings;
  }

  job_info open() override {
    calls.emplace_back("open");
    return info;
  }

  std::vector<protocols::group_id> take_prompts(std::string_view split,
                                                std::size_t count) override {
    note("take_prompts " + std::string{split} + " " + std::to_string(count));
    std::vector<protocols::group_id> out;
    for (std::size_t i = 0; i < count; ++i)
      if (split == "eval") {
        out.push_back({0, static_cast<std::uint32_t>(i), 0});
      } else {
        out.push_back({at.data_pass, at.position, 0});
        if (++at.position == 5)
          at = {at.data_pass + 1, 0};
      }
    return out;
  }

  std::vector<group> generate(const std::vector<protocols::group_id>& ids,
                              const generate_options& options,
                              metrics& values) override {
    note("generate " + options.split + " " + std::to_string(ids.size()) + " x "
         + std::to_string(options.num_samples));
    std::vector<group> out;
    for (const auto& id : ids) {
      group g;
      g.id = id;
      g.num_prompt_tokens = 3;
      g.num_tokens.assign(options.num_samples, 2);
      g.finish.assign(options.num_samples, experience::finish_reason::budget);
      out.push_back(std::move(g));
    }
    values["rollout/tokens"] = 2.0 * static_cast<double>(ids.size());
    return out;
  }

  std::vector<group> grade(std::vector<group> groups, std::string_view split,
                           metrics& /*values*/) override {
    note("grade " + std::string{split} + " " + std::to_string(groups.size()));
    if (split == "train")
      groups.resize(groups.size() - std::min(groups.size(), num_dropped));
    for (auto& g : groups)
      for (std::uint32_t i = 0; i < g.num_tokens.size(); ++i)
        g.rewards.push_back(reward(g.id.position + i));
    return groups;
  }

  trained train(std::int64_t step, const std::vector<group>& groups,
                const std::vector<float>& advantages,
                const train_options& options) override {
    std::string line = "train " + std::to_string(step) + " minibatch "
                       + std::to_string(options.minibatch) + " groups";
    for (const auto& g : groups)
      line += " " + std::to_string(g.id.position);
    line += " advantages " + std::to_string(advantages.size());
    if (options.num_later > 0)
      line += " later " + std::to_string(options.num_later);
    note(line);
    last_advantages = advantages;
    return finish_step(options.learning_rate);
  }

  trained train_supervised(std::int64_t step,
                           const std::vector<protocols::group_id>& rows,
                           double learning_rate) override {
    note("train_supervised " + std::to_string(step) + " rows "
         + std::to_string(rows.size()));
    return finish_step(learning_rate);
  }

  std::vector<float> score(const std::vector<group>& groups) override {
    note("score " + std::to_string(groups.size()));
    return divergences;
  }

  void discard(const std::vector<group>& groups) override {
    note("discard " + std::to_string(groups.size()));
  }

  void consume(const std::vector<group>& groups) override {
    note("consume " + std::to_string(groups.size()));
  }

  data_position position() override {
    note("position");
    return at;
  }

  void seek(data_position to) override {
    note("seek " + std::to_string(to.data_pass) + "/"
         + std::to_string(to.position));
    at = to;
  }

  /// Is accepted while the job drains.
  std::string save(std::int64_t step, const std::string& loop_state) override {
    calls.push_back("save " + std::to_string(step));
    states.push_back(loop_state);
    return "step-" + std::to_string(step);
  }

  std::string export_model() override {
    note("export_model");
    return "final_model";
  }

  void log(std::int64_t step, std::string_view stage,
           const metrics& values) override {
    calls.push_back("log " + std::to_string(step) + " " + std::string{stage});
    logged.push_back(values);
  }

  void log_rollouts(std::int64_t step, const std::vector<group>& groups,
                    const std::vector<float>& /*advantages*/) override {
    calls.push_back("log_rollouts " + std::to_string(step) + " "
                    + std::to_string(groups.size()));
  }

  void say(std::string_view line) override { said.emplace_back(line); }

  [[nodiscard]] bool is_stopping() const override { return stopping; }

private:
  void note(const std::string& line) {
    before_call(num_calls++);
    calls.push_back(line);
  }

  trained finish_step(double learning_rate) {
    trained out;
    out.skipped = skipped();
    version += out.skipped.empty() ? 1 : 0;
    out.version = version;
    out.values = {{"train/loss", learning_rate},
                  {"train/grad_norm", 3.0},
                  {"train/tokens", 10.0}};
    return out;
  }
};

/// 2 prompts x 2 samples a step, an evaluation of 3 prompts.
inline fake_job make_fake(std::int64_t steps, std::int64_t warmup_steps = 0,
                          bool has_eval = false) {
  fake_job j;
  j.settings.train.steps = steps;
  j.settings.train.prompts_per_step = 2;
  j.settings.train.samples_per_prompt = 2;
  j.settings.sft_warmup.steps = warmup_steps;
  j.settings.sft_warmup.batch_size = 3;
  j.settings.eval.max_prompts = 3;
  if (has_eval)
    j.settings.data.eval.emplace();
  return j;
}

} // namespace troupe::runtime::job_api
