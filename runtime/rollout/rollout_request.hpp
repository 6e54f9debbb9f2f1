// SPDX-License-Identifier: Apache-2.0
//
// What a caller asks of the rollout engine: the samples of one prompt. A
// request carries all its settings; nothing is inherited.
#pragma once

#include "kernels/random.hpp"
#include "protocols/ids.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::rollout {

struct request_sampling {
  float temperature = 1.0F;           ///< 0: greedy; at most 100
  float top_p = 1.0F;                 ///< (0, 1]; 1: off
  std::int32_t top_k = 0;             ///< 0: off
  std::int64_t max_new_tokens = 0;    ///< budget of each sample, at least 1
  std::int64_t min_new_tokens = 0;    ///< stop ids are not drawn before
  std::vector<std::int32_t> stop_ids; ///< the model's own and further ones
};

struct rollout_request {
  protocols::group_id id; ///< unique among the groups that the engine holds
  protocols::job_epoch epoch = 0;
  kernels::purpose use = kernels::purpose::generate; ///< or train, eval
  std::string eval_name;                ///< of use eval; empty otherwise
  std::vector<std::int32_t> prompt_ids; ///< [num_prompt_tokens], not empty
  std::int64_t num_samples = 1;
  request_sampling sampling;
};

/// What an engine can hold.
struct request_limits {
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;        ///< of the model
  std::int64_t slot_capacity_tokens = 0; ///< KV rows of one slot
};

/// Checks everything about one request but the uniqueness of its id.
/// Errors: invalid_request (group, value, allowed range); capacity_exceeded
/// (needed against allowed tokens, with the remedies).
void check_request(const rollout_request& request,
                   const request_limits& limits);

/// Returns the coordinates of the random number that draws one token.
kernels::token_coordinates coordinates_of(const rollout_request& request,
                                          std::uint64_t job_seed,
                                          std::uint32_t sample_index,
                                          std::uint32_t position);

/// Returns a number of an evaluation's name that is never 0 (FNV-1a).
std::uint32_t eval_name_hash(std::string_view name);

} // namespace troupe::runtime::rollout
