// SPDX-License-Identifier: Apache-2.0
//
// What a row of the data is held against before step 0, so that nothing about
// it fails in the middle of a run.
#pragma once

#include "runtime/config/job_config.hpp"
#include "runtime/data/length_check.hpp"
#include "runtime/data/prompt_rows.hpp"
#include "runtime/reward/grader.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::actors {

/// What the rows are held against.
struct model_facts {
  std::optional<std::int32_t> eos; ///< ends an answer that is trained on
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0; ///< of prompt and answer together
};

/// Returns an answer as it is trained on, with `eos` behind it.
std::vector<std::int32_t> answer_ids(const runtime::tokenizer::tokenizer& words,
                                     const model_facts& model,
                                     std::string_view answer);

/// What is done with the rows of one source.
struct row_purpose {
  bool is_graded = false;     ///< completions are compared with answers
  bool is_supervised = false; ///< answers are trained on
  /// Completions are sampled with these settings; nullptr: none are.
  const runtime::config::sampling_block* sampling = nullptr;
  std::string sampling_key; ///< its block, such as "eval.sampling"
};

class row_checks {
public:
  /// All that is referred to outlives this.
  row_checks(const runtime::config::job_config& job,
             const runtime::tokenizer::tokenizer& words,
             const model_facts& model, row_purpose purpose);

  /// Throws bad_row (no tokens, an answer that no completion can match).
  /// Errors: model_mismatch (a token id that the model has not),
  /// capacity_exceeded (no positions for a prompt's completion).
  void check(const runtime::data::prompt_row& row, const std::string& place);

  /// After the last row. Errors: prompt_too_long.
  void finish(const runtime::data::prompt_rows& rows) const;

private:
  void check_ids(const std::string& place, const char* what,
                 std::span<const std::int32_t> ids) const;
  void check_positions(const std::string& place, std::int64_t num_tokens) const;

  const runtime::config::job_config& job_;
  const runtime::tokenizer::tokenizer& words_;
  model_facts model_;
  row_purpose purpose_;
  std::unique_ptr<runtime::reward::grader> grader_; ///< of built-in rewards
  runtime::data::length_check prompts_, rows_;
};

} // namespace troupe::actors
