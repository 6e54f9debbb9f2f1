// SPDX-License-Identifier: Apache-2.0
//
// Rows of the data, by id, from the coordinator's process to a rank: prompt
// ids, and the answer's ids as the completion of one sample. A batch is a
// sequence of groups as the group codec writes them.
#pragma once

#include "protocols/ids.hpp"
#include "runtime/experience/rollout_group.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe::runtime::experience {

/// Service of the coordinator's endpoint. Request: encode_row_request; payload:
/// encode_rows.
inline constexpr std::uint32_t service_rows = 16;

struct row_request {
  std::string split; ///< "train", "eval" or "generate"
  std::vector<protocols::group_id> ids;
};

/// The decoders throw frame_corrupt.
std::vector<std::byte> encode_row_request(const row_request& request);
row_request decode_row_request(std::span<const std::byte> bytes);

std::vector<std::byte> encode_rows(const std::vector<rollout_group>& rows);
std::vector<rollout_group> decode_rows(std::span<const std::byte> bytes);

} // namespace troupe::runtime::experience
