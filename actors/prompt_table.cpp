// SPDX-License-Identifier: Apache-2.0
#include "actors/prompt_table.hpp"

#include "protocols/failure.hpp"

#include <algorithm>

namespace troupe::actors {

using protocols::errc;
using protocols::failure;
using protocols::group_id;
using runtime::data::dataset;
using runtime::data::prompt_rows;
using runtime::data::row_order;

namespace {

void check_stop_ids(const runtime::config::sampling_block& sampling,
                    const std::string& key, std::int64_t vocab_size) {
  for (const auto id : sampling.stop_token_ids)
    if (id >= vocab_size)
      throw failure(errc::config_out_of_range,
                    key + ".stop_token_ids has " + std::to_string(id)
                      + "; allowed: 0 to " + std::to_string(vocab_size - 1)
                      + " (the model's vocabulary)");
}

} // namespace

prompt_table::prompt_table(const runtime::config::job_config& job,
                           const model_facts& model, row_use use)
  : words_(runtime::tokenizer::tokenizer::load(
    job.model.tokenizer.empty() ? job.model.path : job.model.tokenizer)),
    model_(model) {
  const bool is_grpo = job.train.algorithm == "grpo";
  const bool is_graded = is_grpo && use != row_use::generate;
  row_purpose train{.is_graded = is_graded,
                    .is_supervised = use == row_use::train
                                     && (!is_grpo || job.sft_warmup.steps > 0)};
  if (is_grpo && use != row_use::evaluate) {
    train.sampling = &job.rollout.sampling;
    train.sampling_key = "rollout.sampling";
    check_stop_ids(*train.sampling, train.sampling_key, model.vocab_size);
  }
  const row_purpose eval{.is_graded = is_graded,
                         .sampling = &job.eval.sampling,
                         .sampling_key = "eval.sampling"};
  if (job.data.eval)
    check_stop_ids(*eval.sampling, eval.sampling_key, model.vocab_size);
  const auto load = [&](const std::string& split,
                        runtime::config::data_source_block source,
                        const row_purpose& purpose, row_order order) {
    if (use == row_use::generate)
      source.answer_field.clear();
    row_checks checks{job, words_, model_, purpose};
    auto rows = prompt_rows::read(
      source, {.on_bad_row = job.data.on_bad_row,
               .spool_folder = job.run.directory,
               .check = [&checks](const auto& row, const auto& place) {
                 checks.check(row, place);
               }});
    checks.finish(rows);
    counts_.push_back({split, static_cast<std::int64_t>(rows.size()),
                       rows.num_dropped(), rows.describe()});
    return dataset(std::move(rows), job.run.seed, order);
  };
  train_.emplace(
    load("train", job.data.train, train,
         job.data.shuffle ? row_order::shuffled : row_order::as_in_file));
  if (job.data.eval)
    eval_.emplace(load("eval", *job.data.eval, eval, row_order::as_in_file));
}

std::size_t prompt_table::num_rows() const {
  const std::lock_guard lock{mutex_};
  return train_->size();
}

std::vector<group_id> prompt_table::take(std::size_t count) {
  const std::lock_guard lock{mutex_};
  std::vector<group_id> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(train_->take());
  return out;
}

std::vector<group_id> prompt_table::held_out(std::size_t count) const {
  const std::lock_guard lock{mutex_};
  const auto size = of("eval").size();
  std::vector<group_id> out;
  for (std::size_t i = 0; i < std::min(count, size); ++i)
    out.push_back({0, static_cast<std::uint32_t>(i), 0});
  return out;
}

runtime::data::data_position prompt_table::position() const {
  const std::lock_guard lock{mutex_};
  return train_->position();
}

void prompt_table::seek(std::uint32_t data_pass, std::uint32_t position) {
  const std::lock_guard lock{mutex_};
  train_->restore({data_pass, position, train_->size()});
}

runtime::experience::rollout_group prompt_table::row(std::string_view split,
                                                     const group_id& id) const {
  const auto found = text(split, id);
  runtime::experience::rollout_group out;
  out.id = id;
  out.prompt_ids = words_.encode(found.prompt);
  auto& answer = out.samples.emplace_back();
  answer.completion_ids = answer_ids(words_, model_, found.answer);
  answer.rollout_logprobs.resize(answer.completion_ids.size());
  answer.filtered_rollout_logprobs.resize(answer.completion_ids.size());
  return out;
}

runtime::data::prompt_row prompt_table::text(std::string_view split,
                                             const group_id& id) const {
  const std::lock_guard lock{mutex_};
  auto& data = of(split);
  if (id.position >= data.size())
    throw failure(errc::invalid_request,
                  "row " + protocols::to_string(id) + " of '"
                    + std::string{split} + "': it has "
                    + std::to_string(data.size()) + " rows");
  return data.row(id);
}

dataset& prompt_table::of(std::string_view split) const {
  if (split != "eval")
    return *train_;
  if (!eval_)
    throw failure(errc::config_missing_key,
                  "data.eval is not set: there are no held-out rows");
  return *eval_;
}

} // namespace troupe::actors
