// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace troupe::runtime::tokenizer {

/// What decoding does not know yet, between two tokens; only decoder.cpp reads
/// it.
struct decode_state {
  struct of_step {
    std::string bytes; ///< a run of byte tokens
    bool has_seen_token = false;
  };
  std::vector<of_step> steps;
  std::string text; ///< the start of a character, or all that is joined
  bool has_seen_token = false;
  std::size_t num_stripped = 0;
  bool is_past_start = false; ///< nothing is stripped any more
};

} // namespace troupe::runtime::tokenizer
