// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_api/loops.hpp"

#include "kernels/advantage.hpp"
#include "runtime/job_api/advantages.hpp"
#include "runtime/job_api/evaluate.hpp"
#include "runtime/job_api/schedule.hpp"
#include "runtime/job_api/update_metrics.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace troupe::runtime::job_api {

namespace {

using clock = std::chrono::steady_clock;
using protocols::errc;
using protocols::failure;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// Where a run stands between two steps: all that `save` needs beside the
/// weights, the optimizer and the data position.
struct progress {
  std::int64_t step = 0;           ///< completed steps of both stages
  std::int64_t optimizer_step = 0; ///< of the current stage
  std::int64_t skipped_in_a_row = 0, num_skipped = 0;
  bool evaluated_at_start = false, evaluated_at_end = false;
};

std::string to_json(const progress& p, const data_position& at) {
  return nlohmann::json{{"step", p.step},
                        {"optimizer_step", p.optimizer_step},
                        {"skipped_in_a_row", p.skipped_in_a_row},
                        {"num_skipped", p.num_skipped},
                        {"evaluated_at_start", p.evaluated_at_start},
                        {"evaluated_at_end", p.evaluated_at_end},
                        {"data_pass", at.data_pass},
                        {"position", at.position}}
    .dump();
}

class run {
public:
  explicit run(job& j) : job_(j), config_(j.config()) {}

  loop_result operator()() {
    const auto info = job_.open();
    saved_step_ = info.resumed_step;
    const auto warmup = config_.sft_warmup.steps;
    const auto total = warmup + config_.train.steps;
    bool is_complete = false;
    try {
      if (!info.loop_state.empty())
        restore(info.loop_state);
      else
        step_start_ = job_.position();
      if (config_.data.eval && !at_.evaluated_at_start && !job_.is_stopping()) {
        evaluate_into("start");
        at_.evaluated_at_start = true;
      }
      while (at_.step < total && !job_.is_stopping())
        one_step(warmup, total);
      if (at_.step == total) {
        finish();
        is_complete = true;
      }
    } catch (const failure& f) {
      if (f.code() != errc::shutting_down)
        throw;
    }
    if (!is_complete && saved_step_ != at_.step) // the first Ctrl-C
      save();
    return {at_.step, total, is_complete, last_};
  }

private:
  void restore(const std::string& text) {
    const auto state = nlohmann::json::parse(text);
    at_ = {state.at("step"),
           state.at("optimizer_step"),
           state.at("skipped_in_a_row"),
           state.at("num_skipped"),
           state.at("evaluated_at_start"),
           state.at("evaluated_at_end")};
    step_start_ = {state.at("data_pass"), state.at("position")};
    job_.seek(step_start_);
  }

  /// Evaluates before it saves: a run that resumes from there does not do it
  /// again. The last step is evaluated and saved by finish().
  void one_step(std::int64_t warmup, std::int64_t total) {
    const auto start = clock::now();
    metrics values;
    std::vector<group> used;
    const bool is_warmup = at_.step < warmup;
    if (at_.step == warmup)
      at_.optimizer_step = 0;
    if (is_warmup)
      supervised_step(config_.sft_warmup.optimizer,
                      config_.sft_warmup.batch_size, at_.step, warmup, values);
    else if (config_.train.algorithm == "sft")
      supervised_step(config_.train.optimizer, config_.train.batch_size,
                      at_.step - warmup, config_.train.steps, values);
    else
      used = policy_step(at_.step - warmup, values);
    ++at_.step;
    step_start_ = step_end_;
    values["time/step_s"] = seconds_since(start);
    if (auto tokens = values.find("rollout/tokens"); tokens != values.end())
      values["throughput/tokens_per_s"] =
        tokens->second / values["time/step_s"];
    else if (auto trained = values.find("train/tokens");
             trained != values.end())
      values["throughput/tokens_per_s"] =
        trained->second / values["time/step_s"];
    const auto every = config_.run.save_every_steps;
    const auto eval_every = config_.eval.every_steps;
    for (const auto& [key, value] : values)
      last_[key] = value;
    job_.log(at_.step, is_warmup ? "sft_warmup" : config_.train.algorithm,
             values);
    if (!used.empty())
      job_.consume(used);
    if (at_.step == total)
      return;
    if (config_.data.eval && is_warmup && at_.step == warmup)
      evaluate_into("after_warmup");
    else if (config_.data.eval && eval_every > 0 && at_.step % eval_every == 0)
      evaluate_now();
    if (every > 0 && at_.step % every == 0)
      save();
  }

  /// Where the next step begins is asked for before this one changes weights.
  std::vector<protocols::group_id> take_rows(std::int64_t count) {
    auto rows = job_.take_prompts("train", static_cast<std::size_t>(count));
    step_end_ = job_.position();
    return rows;
  }

  void supervised_step(const config::optimizer_block& optimizer,
                       std::int64_t batch_size, std::int64_t index,
                       std::int64_t num_steps, metrics& values) {
    const auto rows = take_rows(batch_size);
    const double rate = learning_rate(optimizer, index, num_steps);
    const auto start = clock::now();
    account(job_.train_supervised(at_.step + 1, rows, rate), values);
    values["time/train_s"] = seconds_since(start);
    values["train/learning_rate"] = rate;
  }

  /// Returns the groups that it trained on.
  std::vector<group> policy_step(std::int64_t index, metrics& values) {
    auto groups = collect_groups(values);
    if (groups.empty())
      return {};
    const auto advantages =
      compute_advantages(job_, groups, num_updates(groups.size()), values);
    if (std::all_of(advantages.begin(), advantages.end(),
                    [](float a) { return a == 0.0F; }))
      job_.say("step " + std::to_string(at_.step + 1)
               + ": constant reward in every group: all advantages are 0");
    job_.log_rollouts(at_.step + 1, groups, advantages);
    const auto start = clock::now();
    train_minibatches(groups, advantages, index, values);
    values["time/train_s"] = seconds_since(start);
    return groups;
  }

  std::vector<group> sample_groups(std::int64_t count, metrics& values) {
    auto start = clock::now();
    const auto ids = take_rows(count);
    auto groups = job_.generate(
      ids,
      {"train", static_cast<std::uint32_t>(config_.train.samples_per_prompt),
       config_.rollout.sampling},
      values);
    values["time/generate_s"] = seconds_since(start);
    start = clock::now();
    groups = job_.grade(std::move(groups), "train", values);
    values["time/grade_s"] = seconds_since(start);
    return groups;
  }

  /// Dynamic sampling: groups without spread are replaced, within bounds.
  /// Source: Yu et al., DAPO, equation 11. Differs: bounded; the rewards as
  /// graded are compared, whatever they mean.
  std::vector<group> collect_groups(metrics& values) {
    const auto wanted =
      static_cast<std::size_t>(config_.train.prompts_per_step);
    const auto max_rounds = config_.train.max_resample_rounds;
    auto groups = sample_groups(config_.train.prompts_per_step, values);
    if (max_rounds == 0) {
      if (groups.empty())
        job_.say("step " + std::to_string(at_.step + 1)
                 + ": every group was dropped by reward.on_error; no update");
      return groups;
    }
    std::size_t num_flat = discard_flat(groups);
    std::int64_t round = 0;
    while (groups.size() < wanted && round < max_rounds) {
      ++round;
      metrics of_round;
      auto more = sample_groups(
        static_cast<std::int64_t>(wanted - groups.size()), of_round);
      for (const auto* key :
           {"rollout/tokens", "time/generate_s", "time/grade_s"})
        values[key] += of_round[key];
      num_flat += discard_flat(more);
      groups.insert(groups.end(), more.begin(), more.end());
    }
    values["reward/resample_rounds"] = static_cast<double>(round);
    values["reward/resampled_groups"] = static_cast<double>(num_flat);
    if (groups.size() < wanted)
      job_.say("step " + std::to_string(at_.step + 1) + ": after "
               + std::to_string(round)
               + " resample rounds (train.max_resample_rounds) "
               + std::to_string(groups.size()) + " of " + std::to_string(wanted)
               + " groups have unequal rewards"
               + (groups.empty() ? "; no update" : ""));
    return groups;
  }

  /// Takes the groups whose rewards are all equal out. Returns how many.
  std::size_t discard_flat(std::vector<group>& groups) {
    std::vector<group> flat, kept;
    for (auto& g : groups)
      (kernels::is_flat(g.rewards) ? flat : kept).push_back(std::move(g));
    groups = std::move(kept);
    if (!flat.empty())
      job_.discard(flat);
    return flat.size();
  }

  [[nodiscard]] std::uint32_t num_updates(std::size_t num_groups) const {
    return static_cast<std::uint32_t>(
      std::min(static_cast<std::size_t>(config_.train.minibatches), num_groups)
      * static_cast<std::size_t>(config_.train.epochs));
  }

  /// Epoch after epoch in the same order, each in minibatches of whole groups.
  void train_minibatches(const std::vector<group>& groups,
                         const std::vector<float>& advantages,
                         std::int64_t index, metrics& values) {
    const auto& t = config_.train;
    const auto num_epochs = static_cast<std::uint32_t>(t.epochs);
    const auto count = num_updates(groups.size()) / num_epochs;
    const double rate = learning_rate(t.optimizer, index, t.steps);
    update_metrics of_updates;
    for (std::uint32_t epoch = 0; epoch < num_epochs; ++epoch) {
      std::size_t begin = 0, sample_begin = 0;
      for (std::uint32_t m = 0; m < count; ++m) {
        const auto end = groups.size() * (m + 1) / count;
        const std::vector<group> part(
          groups.begin() + static_cast<std::ptrdiff_t>(begin),
          groups.begin() + static_cast<std::ptrdiff_t>(end));
        std::size_t sample_end = sample_begin;
        for (const auto& g : part)
          sample_end += g.num_tokens.size();
        metrics of_part;
        account(
          job_.train(
            at_.step + 1, part,
            {advantages.begin() + static_cast<std::ptrdiff_t>(sample_begin),
             advantages.begin() + static_cast<std::ptrdiff_t>(sample_end)},
            {epoch * count + m, num_epochs - 1 - epoch, rate}),
          of_part);
        of_updates.add(of_part);
        begin = end;
        sample_begin = sample_end;
      }
    }
    of_updates.write_to(values);
    values["train/learning_rate"] = rate;
  }

  /// Counts skipped updates; ends the run after too many in a row.
  void account(const trained& result, metrics& values) {
    for (const auto& [key, value] : result.values)
      values[key] = value;
    values["train/policy_version"] = static_cast<double>(result.version);
    if (result.skipped.empty()) {
      at_.skipped_in_a_row = 0;
      ++at_.optimizer_step;
      return;
    }
    ++at_.skipped_in_a_row;
    ++at_.num_skipped;
    values["train/skipped_steps"] = static_cast<double>(at_.num_skipped);
    job_.say("step " + std::to_string(at_.step + 1) + ": update skipped ("
             + std::to_string(at_.skipped_in_a_row)
             + " in a row): " + result.skipped);
    if (at_.skipped_in_a_row > config_.train.max_nonfinite_steps)
      throw failure(errc::nonfinite_loss,
                    "step " + std::to_string(at_.step + 1) + ": "
                      + std::to_string(at_.skipped_in_a_row)
                      + " updates in a row were skipped (allowed: "
                        "train.max_nonfinite_steps = "
                      + std::to_string(config_.train.max_nonfinite_steps)
                      + "); the last: " + result.skipped
                      + ". Lower train.optimizer.learning_rate or look at "
                        "rollouts.jsonl");
  }

  /// `when` names the point in the run, for the summary.
  void evaluate_into(const std::string& when) {
    const auto values = evaluate_now();
    last_["eval/" + when + "_accuracy"] = values.at("eval/heldout_accuracy");
  }

  metrics evaluate_now() {
    auto values = evaluate(job_, "heldout");
    for (const auto& [key, value] : values)
      last_[key] = value;
    job_.log(at_.step, "eval", values);
    return values;
  }

  void finish() {
    if (config_.data.eval && !at_.evaluated_at_end)
      evaluate_into("final");
    at_.evaluated_at_end = true;
    if (saved_step_ != at_.step)
      save();
    job_.export_model();
  }

  void save() {
    job_.save(at_.step, to_json(at_, step_start_));
    saved_step_ = at_.step;
  }

  job& job_;
  const config::job_config& config_;
  progress at_;
  data_position step_start_; ///< where the step that comes next begins
  data_position step_end_;   ///< and where the one that runs will end
  std::int64_t saved_step_ = -1;
  metrics last_;
};

} // namespace

loop_result run_job(job& j) {
  return run{j}();
}

} // namespace troupe::runtime::job_api
