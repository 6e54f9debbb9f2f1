// SPDX-License-Identifier: Apache-2.0
#include "actors/actor_job.hpp"

#include "actors/loop_caller.hpp"
#include "actors/real.hpp"
#include "actors/reward_pool.hpp"
#include "actors/step_metrics.hpp"
#include "protocols/group_machine.hpp"
#include "runtime/outputs/run_directory.hpp"

#include <cmath>

namespace troupe::actors {

namespace {

using namespace protocols;
using runtime::config::deadline;
using runtime::job_api::group;
namespace api = runtime::job_api;
using group_event = group_machine::event;

sampling to_message(const runtime::config::sampling_block& s) {
  sampling out;
  out.temperature = to_real(s.temperature);
  out.top_p = to_real(s.top_p);
  out.top_k = static_cast<std::uint32_t>(s.top_k);
  out.max_new_tokens = static_cast<std::uint32_t>(s.max_new_tokens);
  out.min_new_tokens = static_cast<std::uint32_t>(s.min_new_tokens);
  for (const auto id : s.stop_token_ids)
    out.stop_token_ids.push_back(static_cast<std::int32_t>(id));
  return out;
}

std::vector<group_id> ids_of(const std::vector<group>& groups) {
  std::vector<group_id> out;
  for (const auto& g : groups)
    out.push_back(g.id);
  return out;
}

} // namespace

struct actor_job::impl {
  caf::actor_system& system;
  control_context& control;
  std::shared_ptr<job_link> link;
  coordinator_actor coordinator;
  job_outputs* outputs = nullptr;
  std::int64_t resumed_step = -1;

  loop_caller caller{system, control, link};

  rollout_actor rollout;
  trainer_actor trainer;
  parameter_shard_actor shard;
  prompt_source_actor prompts;
  experience_index_actor experience;
  reward_pool_actor rewards;
  checkpoint_index_actor checkpoints;

  policy_version version = 0;
  std::int32_t rank_pid = 0;
  std::string last_checkpoint, final_model;
  std::int64_t last_saved_step = -1;
  bool is_open = false;

  /// Asks and waits, until a row of the table of deadlines or as long as said.
  template <class Reply, class Target, class Request, class Within>
  Reply call(const Target& target, const char* who, Request request,
             Within within) {
    return caller.call<Reply>(target, who, std::move(request), within);
  }

  header head() { return control.process.make_header(); }

  void move_groups_by(const std::vector<group_id>& ids, group_event what) {
    call<groups_moved>(
      experience, "experience index",
      move_groups{head(), ids, static_cast<std::uint8_t>(what), version},
      deadline::control);
  }

  /// Of a request that failed; nothing of them is in the store. A job that has
  /// ended moves nothing any more.
  void give_up(const std::vector<group_id>& ids, group_event why) {
    if (!link->ended())
      move_groups_by(ids, why);
  }

  /// The columns and texts of these groups are no longer needed.
  void consume_groups(const std::vector<group_id>& ids) {
    call<consumed>(rollout, "rollout", protocols::consume{head(), ids},
                   deadline::control);
    for (const auto& id : ids)
      control.texts.drop(id);
  }

  api::trained to_result(trained& reply) {
    version = reply.version;
    api::trained out{reply.version, {}, reply.skipped};
    for (const auto& m : reply.metrics)
      out.values[m.key] = value_of(m.value);
    return out;
  }
};

actor_job::actor_job(caf::actor_system& system, control_context& control,
                     std::shared_ptr<job_link> link,
                     const coordinator_actor& coordinator, job_outputs* outputs,
                     std::int64_t resumed_step)
  : impl_(new impl{system, control, std::move(link), coordinator, outputs,
                   resumed_step}) {}

actor_job::~actor_job() = default;

const runtime::config::job_config& actor_job::config() const {
  return impl_->control.config;
}

api::job_info actor_job::open() {
  auto& s = *impl_;
  const auto reply = s.call<job_opened>(
    s.coordinator, "coordinator", open_job{s.head()}, deadline::load_model);
  s.rollout = caf::actor_cast<rollout_actor>(reply.rollout);
  s.trainer = caf::actor_cast<trainer_actor>(reply.trainer);
  s.shard = caf::actor_cast<parameter_shard_actor>(reply.shard);
  s.prompts = caf::actor_cast<prompt_source_actor>(reply.prompts);
  s.experience = caf::actor_cast<experience_index_actor>(reply.experience);
  s.rewards = caf::actor_cast<reward_pool_actor>(reply.rewards);
  s.checkpoints = caf::actor_cast<checkpoint_index_actor>(reply.checkpoints);
  s.version = reply.version;
  s.rank_pid = reply.rank_pid;
  if (s.control.config.reward.kind == "python") // a grade of nothing: are the
    s.call<graded>(s.rewards, "reward pool",    // functions loaded?
                   protocols::grade{s.head(), {}, "train"}, deadline::grade);
  s.is_open = true;
  return {reply.num_parameters, reply.version, reply.loop_state,
          s.resumed_step};
}

std::vector<group_id> actor_job::take_prompts(std::string_view split,
                                              std::size_t count) {
  auto& s = *impl_;
  return s
    .call<prompts_taken>(
      s.prompts, "prompt source",
      protocols::take_prompts{s.head(), std::string{split},
                              static_cast<std::uint32_t>(count)},
      deadline::control)
    .ids;
}

std::vector<group> actor_job::generate(const std::vector<group_id>& ids,
                                       const api::generate_options& options,
                                       api::metrics& values) {
  auto& s = *impl_;
  const bool is_training = options.split == "train";
  if (is_training)
    s.move_groups_by(ids, group_event::group_dispatched);
  groups_generated reply;
  try {
    reply = s.call<groups_generated>(
      s.rollout, "rollout",
      protocols::generate{s.head(), ids, options.num_samples, options.split,
                          to_message(options.sampling)},
      deadline::generate);
  } catch (const failure& f) {
    if (is_training)
      s.give_up(ids, f.code() == errc::shutting_down
                       ? group_event::drop_requested
                       : group_event::generation_failed);
    throw;
  }
  if (is_training)
    s.move_groups_by(ids, group_event::group_generated);
  std::vector<group> out;
  for (const auto& g : reply.groups) {
    group made{.id = g.id,
               .num_prompt_tokens = g.num_prompt_tokens,
               .num_tokens = g.num_tokens};
    for (const auto f : g.finish_reasons)
      made.finish.push_back(static_cast<runtime::experience::finish_reason>(f));
    made.min_version = g.min_version;
    made.max_version = g.max_version;
    out.push_back(std::move(made));
  }
  describe_completions(out, values);
  return out;
}

std::vector<group> actor_job::grade(std::vector<group> groups,
                                    std::string_view split,
                                    api::metrics& values) {
  auto& s = *impl_;
  const bool is_training = split == "train";
  const auto ids = ids_of(groups);
  if (is_training)
    s.move_groups_by(ids, group_event::grading_began);
  const auto reply =
    s.call<graded>(s.rewards, "reward pool",
                   protocols::grade{s.head(), ids, std::string{split}},
                   grade_patience(config().reward, ids.size(),
                                  s.control.process.deadline_scale));
  std::vector<group> kept;
  std::vector<group_id> graded_ids, dropped_ids;
  double num_samples = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    bool is_whole = true;
    for (const auto& r : reply.groups.at(i).rewards) {
      groups[i].rewards.push_back(static_cast<float>(value_of(r)));
      is_whole = is_whole && !std::isnan(value_of(r));
      ++num_samples;
    }
    (is_whole ? graded_ids : dropped_ids).push_back(groups[i].id);
    if (is_whole)
      kept.push_back(std::move(groups[i]));
  }
  if (is_training && !graded_ids.empty())
    s.move_groups_by(graded_ids, group_event::group_graded);
  if (is_training && !dropped_ids.empty())
    s.move_groups_by(dropped_ids, group_event::grading_failed);
  if (!dropped_ids.empty()) // the caller does not hear of them again
    s.consume_groups(dropped_ids);
  describe_rewards(kept, values);
  if (num_samples > 0)
    values["reward/failed_fraction"] = reply.num_failed / num_samples;
  for (const auto& error : reply.errors)
    say(error);
  if (reply.num_failed > reply.errors.size())
    say(std::to_string(reply.num_failed - reply.errors.size())
        + " more rewards of this step failed");
  return kept;
}

api::trained actor_job::train(std::int64_t step,
                              const std::vector<group>& groups,
                              const std::vector<float>& advantages,
                              const api::train_options& options) {
  auto& s = *impl_;
  const auto ids = ids_of(groups);
  s.move_groups_by(ids, group_event::lease_requested);
  protocols::train request{s.head()};
  request.step = static_cast<std::uint64_t>(step);
  request.ids = ids;
  for (const float a : advantages)
    request.advantages.push_back(to_real(a));
  request.minibatch = options.minibatch;
  request.learning_rate = to_real(options.learning_rate);
  request.version = s.version;
  auto reply = s.call<trained>(s.trainer, "trainer", request, deadline::train);
  s.move_groups_by(ids, options.num_later > 0 ? group_event::lease_returned
                                              : group_event::step_finished);
  return s.to_result(reply);
}

std::vector<float> actor_job::score(const std::vector<group>& groups) {
  auto& s = *impl_;
  const auto reply =
    s.call<scored>(s.trainer, "trainer",
                   protocols::score{s.head(), ids_of(groups)}, deadline::train);
  std::vector<float> out;
  for (const auto& d : reply.divergences)
    out.push_back(static_cast<float>(value_of(d)));
  return out;
}

api::trained actor_job::train_supervised(std::int64_t step,
                                         const std::vector<group_id>& rows,
                                         double learning_rate) {
  auto& s = *impl_;
  protocols::train_supervised request{s.head()};
  request.step = static_cast<std::uint64_t>(step);
  request.stage = static_cast<std::uint8_t>(step <= config().sft_warmup.steps
                                              ? training_stage::warmup
                                              : training_stage::main);
  request.ids = rows;
  request.learning_rate = to_real(learning_rate);
  request.version = s.version;
  auto reply = s.call<trained>(s.trainer, "trainer", request, deadline::train);
  return s.to_result(reply);
}

void actor_job::consume(const std::vector<group>& groups) {
  impl_->consume_groups(ids_of(groups));
}

void actor_job::discard(const std::vector<group>& groups) {
  impl_->move_groups_by(ids_of(groups), group_event::drop_requested);
  consume(groups);
}

api::data_position actor_job::position() {
  auto& s = *impl_;
  const auto at = s.call<data_position>(
    s.prompts, "prompt source", tell_position{s.head()}, deadline::control);
  return {at.data_pass, at.position};
}

void actor_job::seek(api::data_position to) {
  auto& s = *impl_;
  s.call<sought>(s.prompts, "prompt source",
                 protocols::seek{s.head(), {to.data_pass, to.position}},
                 deadline::control);
}

std::string actor_job::save(std::int64_t step, const std::string& loop_state) {
  auto& s = *impl_;
  const auto reply = s.call<saved>(
    s.checkpoints, "checkpoint index",
    protocols::save{s.head(), static_cast<std::uint64_t>(step), loop_state},
    deadline::save);
  s.last_checkpoint = reply.folder;
  s.last_saved_step = step;
  return reply.folder;
}

std::string actor_job::export_model() {
  auto& s = *impl_;
  s.final_model = s.control.process.run_directory
                  / std::string{runtime::outputs::layout::final_model};
  s.call<model_exported>(s.shard, "parameter shard",
                         protocols::export_model{s.head(), s.final_model},
                         deadline::save);
  return s.final_model;
}

void actor_job::log(std::int64_t step, std::string_view stage,
                    const api::metrics& values) {
  auto& s = *impl_;
  if (!s.outputs)
    return;
  runtime::outputs::metric_record record{.step = step};
  record.about = stage == "sft_warmup" ? runtime::outputs::stage::warmup
                 : stage == "eval"     ? runtime::outputs::stage::eval
                                       : runtime::outputs::stage::train;
  for (const auto& [key, value] : values)
    record.metrics.push_back({key, value});
  if (stage != "eval") {
    record.metrics.push_back(
      {"memory/coordinator_rss_bytes", resident_bytes("self")});
    record.metrics.push_back(
      {"memory/rank-0_rss_bytes", resident_bytes(std::to_string(s.rank_pid))});
  }
  s.outputs->metrics.write(record);
  s.outputs->tensorboard.write(record);
  const auto find = [&](const char* key) -> std::optional<double> {
    const auto found = values.find(key);
    if (found == values.end())
      return std::nullopt;
    return found->second;
  };
  if (stage == "eval") {
    for (const auto& [key, value] : values)
      if (key.ends_with("_accuracy"))
        say("step " + std::to_string(step) + ": " + key + " = "
            + std::to_string(value));
    return;
  }
  s.outputs->progress.update(
    {.stage = stage,
     .step = step,
     .num_steps = config().sft_warmup.steps + config().train.steps,
     .loss = find("train/loss"),
     .reward = find("reward/mean"),
     .tokens_per_s = find("throughput/tokens_per_s")});
}

void actor_job::log_rollouts(std::int64_t step,
                             const std::vector<group>& groups,
                             const std::vector<float>& advantages) {
  auto& s = *impl_;
  if (!s.outputs)
    return;
  std::size_t at = 0;
  const auto limit = static_cast<std::size_t>(config().run.samples_to_log);
  for (std::size_t i = 0; i < groups.size() && i < limit; ++i) {
    const auto& g = groups[i];
    const auto row = s.control.prompts.text("train", g.id);
    const auto texts = s.control.texts.get(g.id);
    runtime::outputs::logged_group out{
      .step = step, .id = g.id, .prompt = row.prompt, .answer = row.answer};
    for (std::size_t k = 0; k < g.num_tokens.size(); ++k)
      out.samples.push_back(
        {.completion = k < texts.size() ? texts[k] : "",
         .reward = g.rewards[k],
         .advantage = advantages[at + k],
         .num_completion_tokens = g.num_tokens[k],
         .finish = std::string{runtime::experience::to_string(g.finish[k])},
         .min_policy_version = g.min_version,
         .max_policy_version = g.max_version});
    at += g.num_tokens.size();
    s.outputs->rollouts.write(out);
  }
}

void actor_job::say(std::string_view line) {
  if (impl_->outputs)
    impl_->outputs->progress.print(line);
}

bool actor_job::is_stopping() const {
  return impl_->link->is_stopping();
}

std::optional<failure> actor_job::close(const failure* why) {
  auto& s = *impl_;
  close_job request{s.head()};
  if (why)
    request.why = to_message(*why);
  try {
    const auto reply =
      s.call<job_closed>(s.coordinator, "coordinator", request, deadline::save);
    if (reply.fault.code != 0)
      return to_failure(reply.fault);
  } catch (const failure& f) {
    return f;
  }
  return std::nullopt;
}

bool actor_job::is_open() const {
  return impl_->is_open;
}

const std::string& actor_job::last_checkpoint() const {
  return impl_->last_checkpoint;
}

const std::string& actor_job::final_model() const {
  return impl_->final_model;
}

policy_version actor_job::version() const {
  return impl_->version;
}

std::int64_t actor_job::last_saved_step() const {
  return impl_->last_saved_step;
}

} // namespace troupe::actors
