// SPDX-License-Identifier: Apache-2.0
//
// What a person sees of a running job: one line that is drawn over on a
// terminal, a line a step when piped.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace troupe::runtime::outputs {

enum class progress_style : std::uint8_t { live, plain };

struct progress_state {
  std::string_view stage; ///< warm-up, train, ...
  std::int64_t step = 0, num_steps = 0;
  std::optional<double> loss = {}, reward = {}, tokens_per_s = {};
};

/// Thread: one. Writes to `out` only, and flushes.
class progress_line {
public:
  using steady_clock = std::function<std::chrono::duration<double>()>;

  progress_line(std::ostream& out, progress_style style,
                steady_clock clock = steady_seconds);

  /// Returns live if the descriptor is a terminal that can move its cursor.
  static progress_style style_of(int descriptor);

  static std::chrono::duration<double> steady_seconds();

  /// Shows a step that is done. The time left comes from the last twenty.
  void update(const progress_state& state);

  /// Prints a whole line above the live one.
  void print(std::string_view line);

  /// Leaves the live line as it is and begins a new one.
  void finish();

private:
  struct mark {
    std::int64_t step;
    std::chrono::duration<double> at;
  };

  [[nodiscard]] std::string render(const progress_state& state) const;

  std::ostream& out_;
  progress_style style_;
  steady_clock clock_;
  std::string stage_;
  std::deque<mark> recent_;
  std::string shown_; ///< live: what is on the line now
};

} // namespace troupe::runtime::outputs
