// SPDX-License-Identifier: Apache-2.0
//
// Rotary positions as config.json describes them: the frequencies, and how
// they are stretched beyond the positions that a model was first trained on.
#pragma once

#include "kernels/rotary.hpp"

#include <cstdint>

namespace troupe::runtime::model {

enum class rope_kind : std::uint8_t {
  standard,
  linear,  ///< Chen et al., Position Interpolation, eq. 4
  dynamic, ///< NTK-aware, growing with the position
  llama3,  ///< Llama 3.1: low frequencies only
  yarn,    ///< Peng et al., YaRN, section 3
};

struct rope_config {
  rope_kind kind = rope_kind::standard;
  double theta = 10000;
  std::int64_t width = 0; ///< R, of each head from its start; 0: whole heads
  double factor = 1;      ///< how much longer texts may become
  std::int64_t original_positions = 0; ///< before they did
  double low_frequency_factor = 1;     ///< of llama3
  double high_frequency_factor = 4;    ///< of llama3
  double beta_fast = 32;               ///< of yarn
  double beta_slow = 1;                ///< of yarn
  bool truncates = true;               ///< of yarn: bounds are whole numbers
  double attention_factor = 1;         ///< of yarn: scales q and k

  bool operator==(const rope_config&) const = default;
};

/// Returns the table of positions [0, num_positions) for heads of that width.
/// Source: transformers, modeling_rope_utils.py. Differs: a dynamic position p
/// beyond the original ones takes the frequencies of a text of p + 1 tokens, as
/// in decoding token by token; transformers computes a whole text with those of
/// its length, so that its scores and its samples are those of two models.
kernels::rotary_table make_rotary_table(const rope_config& rope,
                                        std::int64_t head_width,
                                        std::int64_t num_positions);

} // namespace troupe::runtime::model
