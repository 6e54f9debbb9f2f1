// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace troupe::runtime::tokenizer {

/// The bytes [begin, end) of a text.
struct text_span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const text_span&) const = default;
};

} // namespace troupe::runtime::tokenizer
