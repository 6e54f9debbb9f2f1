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

void check_stop_ids(const runtime::config::sampling_block& sampling,
                    const std::string& key, std::int64_t vocab_size) {
  for (const auto id : sampling.stop_token_ids)
    if (id >= vocab_size)
      throw failure(errc::config_out_of_range,
                    key + ".stop_token_ids has " + std::to_string(id)
                      + "; allowed: 0 to " + std::to_string(vocab_size - 1)
                      + " (the model's vocabulary)");
}

/// What a rollout or a step would refuse at the row's turn.
void check_ids(const std::string& where, const char* what,
               std::span<const std::int32_t> ids, const model_facts& model) {
  if (ids.empty())
    throw failure(errc::data_bad_row,
                  where + ": the " + what
                    + " has no tokens; the tokenizer has none for its "
                      "characters");
  for (const auto id : ids)
    if (id >= model.vocab_size)
      throw failure(errc::model_mismatch,
                    where + ": token id " + std::to_string(id) + " of the "
                      + what + " is not in the model's vocabulary, 0 to "
                      + std::to_string(model.vocab_size - 1)
                      + "; use the tokenizer that the model was trained with");
}

void check_positions(const std::string& where, std::int64_t num_tokens,
                     const runtime::config::sampling_block& sampling,
                     const std::string& key, const model_facts& model) {
  if (num_tokens + sampling.max_new_tokens <= model.max_positions)
    return;
  throw failure(
    errc::capacity_exceeded,
    where + ": " + std::to_string(num_tokens) + " prompt tokens and " + key
      + ".max_new_tokens, " + std::to_string(sampling.max_new_tokens)
      + ", are more than the model's " + std::to_string(model.max_positions)
      + " positions; shorten the prompt, lower max_new_tokens, or "
        "take a model with more positions");
}

} // namespace

prompt_table::prompt_table(const runtime::config::job_config& job,
                           const model_facts& model, row_use use)
  : words_(runtime::tokenizer::tokenizer::load(
    job.model.tokenizer.empty() ? job.model.path : job.model.tokenizer)),
    model_(model) {
  const bool samples =
    job.train.algorithm == "grpo" && use != row_use::evaluate;
  if (samples)
    check_stop_ids(job.rollout.sampling, "rollout.sampling", model.vocab_size);
  if (job.data.eval)
    check_stop_ids(job.eval.sampling, "eval.sampling", model.vocab_size);
  const auto load = [&](runtime::config::data_source_block source,
                        row_order order,
                        const runtime::config::sampling_block* sampling,
                        const std::string& key) {
    if (use == row_use::generate)
      source.answer_field.clear();
    auto rows = runtime::data::read_prompt_rows(source, job.data.on_bad_row);
    if (job.train.algorithm == "grpo" && use != row_use::generate)
      check_answers(rows, job.reward.kind);
    const auto num_tokens = [&](const prompt_row& row) {
      const auto ids = words_.encode(row.prompt);
      const auto where = rows.file + ':' + std::to_string(row.line);
      check_ids(where, "prompt", ids, model_);
      const auto size = static_cast<std::int64_t>(ids.size());
      if (sampling && size <= job.rollout.max_prompt_tokens)
        check_positions(where, size, *sampling, key, model_);
      return size;
    };
    if (sampling)
      check_lengths(rows,
                    {job.rollout.max_prompt_tokens, "prompts",
                     "raise rollout.max_prompt_tokens"},
                    num_tokens);
    notes_.push_back(rows.describe());
    return dataset(std::move(rows), job.run.seed, order);
  };
  train_ = load(job.data.train,
                job.data.shuffle ? row_order::shuffled : row_order::as_in_file,
                samples ? &job.rollout.sampling : nullptr, "rollout.sampling");
  if (use == row_use::train
      && (job.train.algorithm == "sft" || job.sft_warmup.steps > 0))
    check_supervised(train_->source());
  if (job.data.eval)
    eval_ = load(*job.data.eval, row_order::as_in_file, &job.eval.sampling,
                 "eval.sampling");
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
                  const auto where = rows.file + ':' + std::to_string(row.line);
                  const auto prompt = words_.encode(row.prompt);
                  const auto answer = answer_ids(row.answer);
                  check_ids(where, "prompt", prompt, model_);
                  check_ids(where, "answer", answer, model_);
                  return static_cast<std::int64_t>(prompt.size()
                                                   + answer.size());
                });
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
