// SPDX-License-Identifier: Apache-2.0
//
// A rollout group of any size with reproducible columns, and an equality that
// compares floats by their bits.
#pragma once

#include "runtime/experience/rollout_group.hpp"

#include <bit>
#include <cstring>
#include <random>

namespace troupe::tests {

inline std::vector<float> make_logprobs(std::mt19937& random,
                                        std::size_t count) {
  std::vector<float> out(count);
  for (auto& value : out) // any bits: NaN, infinities and subnormals, too
    value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  return out;
}

inline runtime::experience::rollout_group
make_group(const protocols::group_id& id, std::size_t num_samples,
           std::size_t num_tokens) {
  std::mt19937 random{id.position};
  runtime::experience::rollout_group group;
  group.id = id;
  group.epoch = 3;
  group.prompt_ids = {1, 2, -3};
  for (std::size_t i = 0; i < num_samples; ++i) {
    runtime::experience::sample s;
    s.completion_ids.resize(num_tokens);
    for (auto& token : s.completion_ids)
      token = static_cast<std::int32_t>(random());
    s.rollout_logprobs = make_logprobs(random, num_tokens);
    s.filtered_rollout_logprobs = make_logprobs(random, num_tokens);
    s.min_policy_version = i;
    s.max_policy_version = i + 1;
    s.finish = runtime::experience::finish_reason::stop_token;
    s.text.assign(4 * num_tokens, static_cast<char>('a' + i));
    group.samples.push_back(std::move(s));
  }
  return group;
}

inline bool has_same_bits(const std::vector<float>& a,
                          const std::vector<float>& b) {
  return a.size() == b.size()
         && (a.empty()
             || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline bool has_same_bits(const runtime::experience::rollout_group& a,
                          const runtime::experience::rollout_group& b) {
  if (a.id != b.id || a.epoch != b.epoch || a.prompt_ids != b.prompt_ids
      || a.samples.size() != b.samples.size())
    return false;
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    const auto& x = a.samples[i];
    const auto& y = b.samples[i];
    if (x.completion_ids != y.completion_ids || x.text != y.text
        || x.finish != y.finish || x.min_policy_version != y.min_policy_version
        || x.max_policy_version != y.max_policy_version
        || !has_same_bits(x.rollout_logprobs, y.rollout_logprobs)
        || !has_same_bits(x.filtered_rollout_logprobs,
                          y.filtered_rollout_logprobs))
      return false;
  }
  return true;
}

} // namespace troupe::tests
