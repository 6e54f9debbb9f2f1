// SPDX-License-Identifier: Apache-2.0
//
// The columns of a rollout group: everything that is too big for a message. It
// stays in the group store of the process that made it; the coordinator holds
// ids, lengths, versions, rewards and states only (DESIGN section 1).
#pragma once

#include "protocols/ids.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::experience {

enum class finish_reason : std::uint8_t {
  stop_token, ///< the last id is a stop id; it counts as a token
  budget,     ///< max_new_tokens reached: truncated
  aborted,
};

/// Returns the enumerator's name.
constexpr std::string_view to_string(finish_reason reason) {
  switch (reason) {
  case finish_reason::stop_token: return "stop_token";
  case finish_reason::budget: return "budget";
  case finish_reason::aborted: return "aborted";
  }
  return "unknown";
}

/// One of the n sequences drawn for a prompt. All columns have one entry a
/// completion token.
struct sample {
  std::vector<std::int32_t> completion_ids;
  std::vector<float> rollout_logprobs;          ///< nats, after temperature
  std::vector<float> filtered_rollout_logprobs; ///< and after the filters
  protocols::policy_version min_policy_version = 0;
  protocols::policy_version max_policy_version = 0;
  finish_reason finish = finish_reason::budget;
  std::string text; ///< decoded completion, special tokens left out
};

struct rollout_group {
  protocols::group_id id;
  protocols::job_epoch epoch = 0;
  std::vector<std::int32_t> prompt_ids;
  std::vector<sample> samples;
};

/// Returns the bytes that the columns take.
std::size_t num_bytes(const rollout_group& group);

} // namespace troupe::runtime::experience
