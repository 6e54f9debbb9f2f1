// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/policy_columns.hpp"

#include "kernels/loss_weights.hpp"
#include "runtime/config/loss_options.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::runtime::train {

namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

bool has_all(const logprob_table& known, group_span groups) {
  return std::ranges::all_of(
    groups, [&](const auto& g) { return known.contains(g->id); });
}

} // namespace

std::string policy_columns::reason_if_empty() const {
  std::string out = "no sample has a completion token";
  if (num_overlong > 0)
    out += " that counts: train.overlong_filter left out "
           + std::to_string(num_overlong) + " samples";
  if (num_nonfinite > 0)
    out += (num_overlong > 0 ? ", and " : " that counts: ")
           + std::to_string(num_nonfinite) + " rollout logprobs are not finite";
  return out;
}

policy_columns make_columns(group_span groups,
                            std::span<const float> advantages,
                            const config::train_block& train,
                            const logprob_table& known) {
  policy_columns out;
  std::vector<std::uint8_t> mask;
  const bool knows_old = has_all(known, groups);
  std::size_t sample_index = 0;
  for (const auto& group : groups)
    for (std::size_t s = 0; s < group->samples.size(); ++s) {
      const auto& sample = group->samples[s];
      const float advantage = advantages[sample_index++];
      const auto length = sample.completion_ids.size();
      if (length == 0)
        continue; // aborted before its first token: nothing to train on
      if (train.overlong_filter
          && sample.finish == experience::finish_reason::budget) {
        ++out.num_overlong;
        continue;
      }
      out.sequences.push_back({group->prompt_ids, sample.completion_ids});
      out.lengths.push_back(static_cast<std::int64_t>(length));
      append(out.rollout_logprobs, sample.rollout_logprobs);
      out.advantages.insert(out.advantages.end(), length, advantage);
      if (knows_old)
        append(out.old_logprobs, known.at(group->id)[s]);
      for (const float logprob : sample.rollout_logprobs) {
        mask.push_back(std::isfinite(logprob) ? 1 : 0);
        out.num_nonfinite += std::isfinite(logprob) ? 0 : 1;
      }
    }
  out.weights.resize(mask.size());
  out.num_tokens = kernels::loss_weights(mask, out.lengths,
                                         config::weights_of(train), out.weights)
                     .num_tokens;
  return out;
}

columns_of_batch part_of(const policy_columns& columns,
                         const packed_rows& batch, std::size_t first_sequence) {
  const auto part = [&](const std::vector<float>& column) {
    return column.empty() ? std::span<const float>{}
                          : std::span<const float>{column}.subspan(
                            batch.first_token, batch.targets.size());
  };
  return {
    std::span{columns.lengths}.subspan(first_sequence, batch.prefixes.size()),
    part(columns.rollout_logprobs), part(columns.advantages),
    part(columns.weights), part(columns.old_logprobs)};
}

} // namespace troupe::runtime::train
