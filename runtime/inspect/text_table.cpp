// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/text_table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <ostream>

namespace troupe::runtime::inspect {

namespace {

/// Returns the number of characters: bytes that don't continue one in UTF-8.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
    std::count_if(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
    }));
}

} // namespace

text_table::text_table(std::vector<std::string> titles) {
  for (auto& title : titles) {
    is_right_.push_back(title.starts_with('>'));
    if (is_right_.back())
      title.erase(0, 1);
  }
  rows_.push_back(std::move(titles));
}

void text_table::add(std::vector<std::string> cells) {
  cells.resize(is_right_.size());
  for (auto& cell : cells)
    cell = one_line(cell);
  rows_.push_back(std::move(cells));
}

void text_table::print(std::ostream& out, std::string_view indent) const {
  std::vector<std::size_t> widths(is_right_.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width(row[i]));
  for (const auto& row : rows_) {
    std::string line{indent};
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string fill(widths[i] - width(row[i]), ' ');
      line += is_right_[i] ? fill + row[i] : row[i] + fill;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

std::string age_text(std::chrono::nanoseconds age) {
  const auto seconds = std::chrono::duration<double>(age).count();
  const auto whole = static_cast<long>(seconds);
  std::array<char, 32> buffer{};
  if (seconds < 59.95)
    std::snprintf(buffer.data(), buffer.size(), "%.1fs", seconds);
  else if (whole < 3600)
    std::snprintf(buffer.data(), buffer.size(), "%ldm%02lds", whole / 60,
                  whole % 60);
  else if (whole < 86400)
    std::snprintf(buffer.data(), buffer.size(), "%ldh%02ldm", whole / 3600,
                  whole / 60 % 60);
  else
    std::snprintf(buffer.data(), buffer.size(), "%ldd%02ldh", whole / 86400,
                  whole / 3600 % 24);
  return buffer.data();
}

std::string time_text(std::int64_t realtime_ns) {
  const std::time_t seconds = realtime_ns / 1'000'000'000;
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%02d:%02d:%02d.%03d",
                parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(realtime_ns / 1'000'000 % 1000));
  return buffer.data();
}

std::string one_line(std::string_view text) {
  std::string line{text};
  for (auto& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = ' ';
  return line;
}

} // namespace troupe::runtime::inspect
