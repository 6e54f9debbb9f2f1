// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random numbers: a value is a pure function of its coordinates.
// Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (Philox
// 4x32-10).
#pragma once

#include <array>
#include <cstdint>

namespace troupe::kernels {

/// One block of Philox 4x32-10.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// What a random number is for; part of its coordinates (DESIGN section 7).
enum class purpose : std::uint8_t {
  train = 1,
  eval = 2,
  generate = 3,
  initialise = 4,
  shuffle = 5
};

/// The coordinates of one sampled token.
struct token_coordinates {
  std::uint64_t job_seed = 0;
  purpose use = purpose::generate;
  std::uint32_t eval_name_hash = 0; ///< 0 unless use is eval
  std::uint32_t data_pass = 0, position_in_pass = 0, attempt = 0;
  std::uint32_t sample_index = 0;
  std::uint32_t turn = 0;
  std::uint32_t position = 0; ///< 0 for the first completion token
};

/// Returns a number in [0, 1) with 53 random bits.
double uniform(const token_coordinates& at);

} // namespace troupe::kernels
