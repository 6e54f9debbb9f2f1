// SPDX-License-Identifier: Apache-2.0
#include "actors/prompt_table.hpp"

#include "protocols/failure.hpp"
#include "runtime/reward/grader.hpp"

#include <algorithm>

namespace troupe::actors {

namespace {

using protocols::errc;
using protocols::failure;
using protocols::group_id;
using runtime::data::dataset;
using runtime::data::prompt_row;
using runtime::data::prompt_rows;
using runtime::data::row_order;

/// Answers that no completion can match are found here, not at step 3000.
void check_answers(const prompt_rows& rows, const std::string& kind) {
  if (kind == "python")
    return;
  const auto grader = runtime::reward::make_grader(kind);
  for (const auto& row : rows.rows)
    if (const auto why = grader->refuse_answer(row.answer))
      throw failure(errc::data_bad_row,
                    rows.file + ":" + std::to_string(row.line) + ": answer '"
                      + row.answer + "': " + *why + " (reward.kind = " + kind
                      + ")");
}

} // namespace

prompt_table::prompt_table(const runtime::config::job_config& job,
                           const model_facts& model, answer_use answers)
  : words_(runtime::tokenizer::tokenizer::load(
    job.model.tokenizer.empty() ? job.model.path : job.model.tokenizer)),
    model_(model) {
  const bool generates = job.train.algorithm == "grpo" || job.data.eval;
  const auto load = [&](const runtime::config::data_source_block& source,
                        row_order order) {
    auto rows = runtime::data::read_prompt_rows(source, job.data.on_bad_row);
    if (job.train.algorithm == "grpo" && answers == answer_use::graded)
      check_answers(rows, job.reward.kind);
    if (generates)
      check_lengths(
        rows,
        {job.rollout.max_prompt_tokens, "prompts",
         "raise rollout.max_prompt_tokens"},
        [&](const prompt_row& row) { return num_tokens(row.prompt); });
    notes_.push_back(rows.describe());
    return dataset(std::move(rows), job.run.seed, order);
  };
  train_ = load(job.data.train,
                job.data.shuffle ? row_order::shuffled : row_order::as_in_file);
  if (job.train.algorithm == "sft" || job.sft_warmup.steps > 0)
    check_supervised(train_->source());
  if (job.data.eval)
    eval_ = load(*job.data.eval, row_order::as_in_file);
}

/// Rows that would fail in the middle of a run: without a token to learn, or
/// longer than the model.
void prompt_table::check_supervised(const prompt_rows& rows) const {
  if (!model_.eos)
    for (const auto& row : rows.rows)
      if (row.answer.empty())
        throw failure(errc::data_bad_row,
                      rows.file + ":" + std::to_string(row.line)
                        + ": the answer is empty and the model has no "
                          "end-of-sequence token, so that there is nothing "
                          "to learn; allowed: at least one token");
  check_lengths(rows,
                {model_.max_positions, "prompts with their answers",
                 "that is what the model has positions for; take another "
                 "model"},
                [&](const prompt_row& row) {
                  return num_tokens(row.prompt)
                         + static_cast<std::int64_t>(
                           answer_ids(row.answer).size());
                });
}

std::int64_t prompt_table::num_tokens(std::string_view text) const {
  return static_cast<std::int64_t>(words_.encode(text).size());
}

std::vector<std::int32_t>
prompt_table::answer_ids(std::string_view answer) const {
  auto ids = words_.encode(answer, runtime::tokenizer::template_tokens::omit);
  if (model_.eos)
    ids.push_back(*model_.eos);
  return ids;
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
  answer.completion_ids = answer_ids(found.answer);
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
