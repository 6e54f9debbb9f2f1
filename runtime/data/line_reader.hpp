// SPDX-License-Identifier: Apache-2.0
//
// Lines of a stream, each with its number and the offset where it begins.
#pragma once

#include "runtime/data/byte_stream.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::runtime::data {

/// No row takes so much; a line without end is no reason to take all memory.
inline constexpr std::size_t max_line_bytes = std::size_t{64} << 20;

struct text_line {
  std::string text;         ///< without "\n"; its start if it is too long
  std::int64_t number = 0;  ///< from 1
  std::uint64_t offset = 0; ///< of the decompressed bytes
  bool is_too_long = false; ///< more than max_line_bytes
};

class line_reader {
public:
  explicit line_reader(byte_stream& bytes) : bytes_(bytes), block_(1U << 18) {}

  /// Reads the next line; false at the end. Errors: those of the stream.
  bool next(text_line& line);

private:
  bool refill();

  byte_stream& bytes_;
  std::vector<char> block_;
  std::size_t begin_ = 0, end_ = 0; ///< what of the block is not read yet
  std::int64_t number_ = 0;
  std::uint64_t offset_ = 0;
};

} // namespace troupe::runtime::data
