// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/line_reader.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::runtime::data {

bool line_reader::refill() {
  begin_ = 0;
  end_ = bytes_.read(block_.data(), block_.size());
  return end_ > 0;
}

bool line_reader::next(text_line& line) {
  if (begin_ == end_ && !refill())
    return false;
  line.text.clear();
  line.number = ++number_;
  line.offset = offset_;
  line.is_too_long = false;
  do {
    const auto* from = block_.data() + begin_;
    const auto* end =
      static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    const auto size =
      end ? static_cast<std::size_t>(end - from) : end_ - begin_;
    const auto kept = std::min(size, max_line_bytes - line.text.size());
    line.text.append(from, kept);
    line.is_too_long = line.is_too_long || kept < size;
    begin_ += size + (end ? 1 : 0);
    offset_ += size + (end ? 1 : 0);
    if (end)
      return true;
  } while (refill());
  return true;
}

} // namespace troupe::runtime::data
