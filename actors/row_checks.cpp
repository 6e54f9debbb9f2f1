// SPDX-License-Identifier: Apache-2.0
#include "actors/row_checks.hpp"

#include "protocols/failure.hpp"

#include <utility>

namespace troupe::actors {

using protocols::errc;
using protocols::failure;
using runtime::data::bad_row;
using runtime::data::prompt_row;

std::vector<std::int32_t> answer_ids(const runtime::tokenizer::tokenizer& words,
                                     const model_facts& model,
                                     std::string_view answer) {
  auto ids = words.encode(answer, runtime::tokenizer::template_tokens::omit);
  if (model.eos)
    ids.push_back(*model.eos);
  return ids;
}

row_checks::row_checks(const runtime::config::job_config& job,
                       const runtime::tokenizer::tokenizer& words,
                       const model_facts& model, row_purpose purpose)
  : job_(job), words_(words), model_(model), purpose_(std::move(purpose)),
    prompts_({job.rollout.max_prompt_tokens, "prompts",
              "raise rollout.max_prompt_tokens"}),
    rows_({model.max_positions, "prompts with their answers",
           "that is what the model has positions for; take another model"}) {
  if (purpose_.is_graded && job.reward.kind != "python")
    grader_ = runtime::reward::make_grader(job.reward.kind);
}

void row_checks::check(const prompt_row& row, const std::string& place) {
  if (grader_)
    if (const auto why = grader_->refuse_answer(row.answer))
      throw bad_row{*why + " (reward.kind: " + job_.reward.kind + ")"};
  if (!purpose_.sampling && !purpose_.is_supervised)
    return;
  const auto prompt = words_.encode(row.prompt);
  check_ids(place, "prompt", prompt);
  const auto num_tokens = static_cast<std::int64_t>(prompt.size());
  if (purpose_.sampling) {
    prompts_.add(place, num_tokens);
    if (num_tokens <= job_.rollout.max_prompt_tokens)
      check_positions(place, num_tokens);
  }
  if (purpose_.is_supervised) {
    if (row.answer.empty() && !model_.eos)
      throw bad_row{"the answer is empty and the model has no end-of-sequence "
                    "token, so that there is nothing to learn; allowed: at "
                    "least one token"};
    const auto answer = answer_ids(words_, model_, row.answer);
    check_ids(place, "answer", answer);
    rows_.add(place, num_tokens + static_cast<std::int64_t>(answer.size()));
  }
}

void row_checks::finish(const runtime::data::prompt_rows& rows) const {
  prompts_.finish(rows.name(), rows.size());
  rows_.finish(rows.name(), rows.size());
}

void row_checks::check_ids(const std::string& place, const char* what,
                           std::span<const std::int32_t> ids) const {
  if (ids.empty())
    throw bad_row{std::string{"the "} + what
                  + " has no tokens; the tokenizer has none for its "
                    "characters"};
  for (const auto id : ids)
    if (id >= model_.vocab_size)
      throw failure(errc::model_mismatch,
                    place + ": token id " + std::to_string(id) + " of the "
                      + what + " is not in the model's vocabulary, 0 to "
                      + std::to_string(model_.vocab_size - 1)
                      + "; use the tokenizer that the model was trained with");
}

void row_checks::check_positions(const std::string& place,
                                 std::int64_t num_tokens) const {
  const auto max_new_tokens = purpose_.sampling->max_new_tokens;
  if (num_tokens + max_new_tokens <= model_.max_positions)
    return;
  throw failure(
    errc::capacity_exceeded,
    place + ": " + std::to_string(num_tokens) + " prompt tokens and "
      + purpose_.sampling_key + ".max_new_tokens, "
      + std::to_string(max_new_tokens) + ", are more than the model's "
      + std::to_string(model_.max_positions)
      + " positions; shorten the prompt, lower max_new_tokens, or take a "
        "model with more positions");
}

} // namespace troupe::actors
