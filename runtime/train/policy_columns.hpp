// SPDX-License-Identifier: Apache-2.0
//
// The samples of a policy step as columns of tokens, and what of them is fixed
// before the first forward: which tokens count, and how much.
#pragma once

#include "runtime/config/job_config.hpp"
#include "runtime/experience/rollout_group.hpp"
#include "runtime/train/packing.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::runtime::train {

using group_span =
  std::span<const std::shared_ptr<const experience::rollout_group>>;

/// Logprobs by group, sample and token.
using logprob_table =
  std::map<protocols::group_id, std::vector<std::vector<float>>>;

/// Over the tokens of all sequences, one after the other. A sample without a
/// token, or that overlong_filter leaves out, is no sequence. A token whose
/// rollout logprob is not finite has the weight 0.
struct policy_columns {
  std::vector<sequence> sequences;
  std::vector<std::int64_t> lengths; ///< tokens; one a sequence
  std::vector<float> rollout_logprobs, advantages, weights;
  std::vector<float> old_logprobs; ///< empty: not known yet
  std::int64_t num_tokens = 0;     ///< of weight other than 0
  std::int64_t num_nonfinite = 0;  ///< tokens left out
  std::int64_t num_overlong = 0;   ///< samples left out

  /// Why no token counts.
  [[nodiscard]] std::string reason_if_empty() const;
};

/// Shapes: advantages [samples of all groups]. `known` may lack the groups.
policy_columns make_columns(group_span groups,
                            std::span<const float> advantages,
                            const config::train_block& train,
                            const logprob_table& known);

/// The part of the columns that a microbatch has. Spans are empty where the
/// step has no such column.
struct columns_of_batch {
  std::span<const std::int64_t> lengths;
  std::span<const float> rollout_logprobs, advantages, weights, old_logprobs;
};

/// `first_sequence`: of the microbatch among all.
columns_of_batch part_of(const policy_columns& columns,
                         const packed_rows& batch, std::size_t first_sequence);

} // namespace troupe::runtime::train
