// SPDX-License-Identifier: Apache-2.0
//
// The job's rows, tokenised when asked for: what the prompt source counts
// through, what ranks pull, and what people read. Everything that can be wrong
// with the data is found when it is loaded, before step 0.
#pragma once

#include "actors/row_checks.hpp"
#include "protocols/ids.hpp"
#include "runtime/config/job_config.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/experience/rollout_group.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::actors {

/// What the rows are read for.
enum class row_use : std::uint8_t {
  train,
  generate, ///< nobody compares completions with answers
  evaluate, ///< nothing is sampled for the training rows
};

/// What became of the rows of one split.
struct row_counts {
  std::string split; ///< "train" or "eval"
  std::int64_t num_kept = 0, num_dropped = 0;
  std::string description; ///< a line for people, and reasons below it
};

/// Thread: any; one at a time inside.
class prompt_table {
public:
  /// Errors: data_*, prompt_too_long (count and first ten), tokenizer_*,
  /// config_out_of_range (stop ids), model_mismatch (a token id that the model
  /// has not), capacity_exceeded (no positions for a prompt's completion).
  prompt_table(const runtime::config::job_config& job, const model_facts& model,
               row_use use);

  /// Rows of the training data.
  [[nodiscard]] std::size_t num_rows() const;

  /// The next rows of the training data.
  std::vector<protocols::group_id> take(std::size_t count);

  /// The first rows of the held-out data, at most `count`.
  [[nodiscard]] std::vector<protocols::group_id>
  held_out(std::size_t count) const;

  [[nodiscard]] runtime::data::data_position position() const;
  void seek(std::uint32_t data_pass, std::uint32_t position);

  /// A row as ranks get it: prompt ids, and the answer's ids with `eos` as the
  /// completion of one sample. `split`: "eval" is the held-out data, anything
  /// else the training data. Errors: invalid_request for an unknown row.
  [[nodiscard]] runtime::experience::rollout_group
  row(std::string_view split, const protocols::group_id& id) const;

  /// The same as text.
  [[nodiscard]] runtime::data::prompt_row
  text(std::string_view split, const protocols::group_id& id) const;

  [[nodiscard]] const runtime::tokenizer::tokenizer& words() const {
    return words_;
  }

  [[nodiscard]] const std::vector<row_counts>& counts() const {
    return counts_;
  }

private:
  [[nodiscard]] runtime::data::dataset& of(std::string_view split) const;

  runtime::tokenizer::tokenizer words_;
  model_facts model_;
  mutable std::mutex mutex_;
  mutable std::optional<runtime::data::dataset> train_, eval_;
  std::vector<row_counts> counts_;
};

} // namespace troupe::actors
