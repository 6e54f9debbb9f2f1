// SPDX-License-Identifier: Apache-2.0
//
// Rollout groups as bytes, for runtime/transport. Little-endian columns as they
// are, floats bit for bit. Decoding trusts nothing: every count is held against
// the bytes that are left before anything is allocated.
#pragma once

#include "runtime/experience/rollout_group.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe::runtime::experience {

/// Services of runtime/transport that concern groups.
enum service : std::uint32_t {
  service_group = 1, ///< request: group_key; payload: encode_group
  service_texts = 2, ///< request: group_key; payload: encode_texts
};

/// Which group a request is about.
struct group_key {
  protocols::group_id id;
  protocols::job_epoch epoch = 0;
  bool operator==(const group_key&) const = default;
};

/// All decoders throw frame_corrupt naming the field and its offset.
std::vector<std::byte> encode_key(const group_key& key);
group_key decode_key(std::span<const std::byte> bytes);

std::vector<std::byte> encode_group(const rollout_group& group);
rollout_group decode_group(std::span<const std::byte> bytes);

/// The decoded completions only, for rewards.
std::vector<std::byte> encode_texts(const rollout_group& group);
std::vector<std::string> decode_texts(std::span<const std::byte> bytes);

} // namespace troupe::runtime::experience
