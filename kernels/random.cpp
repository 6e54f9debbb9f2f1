// SPDX-License-Identifier: Apache-2.0
#include "kernels/random.hpp"

namespace troupe::kernels {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = multiplier0 * counter[0];
    const std::uint64_t product1 = multiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9; // the golden ratio
    key[1] += 0xBB67AE85; // sqrt(3) - 1
  }
  return counter;
}

double uniform(const token_coordinates& at) {
  // More coordinates than one block has room for: the first block names the
  // group and gives the key of the second.
  const auto group =
    philox({static_cast<std::uint32_t>(at.use), at.eval_name_hash, at.data_pass,
            at.position_in_pass},
           {static_cast<std::uint32_t>(at.job_seed),
            static_cast<std::uint32_t>(at.job_seed >> 32)});
  const auto token = philox({at.attempt, at.sample_index, at.turn, at.position},
                            {group[0], group[1]});
  const std::uint64_t bits = (std::uint64_t{token[0]} << 32 | token[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

} // namespace troupe::kernels
