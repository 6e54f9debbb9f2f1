// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/progress_line.hpp"

#include "runtime/printable.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <unistd.h>

namespace troupe::runtime::outputs {

namespace {

constexpr std::size_t num_recent = 21; // marks around twenty steps
constexpr std::string_view clear_line = "\r\x1b[K";

std::string formatted(const char* format, double value) {
  char buffer[64];
  const int size = std::snprintf(buffer, sizeof buffer, format, value);
  return {buffer, static_cast<std::size_t>(size)};
}

std::string duration_text(double seconds) {
  const auto total = static_cast<long>(std::ceil(seconds));
  const auto hours = total / 3600, minutes = total / 60 % 60;
  if (hours > 0)
    return std::to_string(hours) + " h " + std::to_string(minutes) + " min";
  if (minutes > 0)
    return std::to_string(minutes) + " min " + std::to_string(total % 60)
           + " s";
  return std::to_string(total) + " s";
}

} // namespace

progress_line::progress_line(std::ostream& out, progress_style style,
                             steady_clock clock)
  : out_(out), style_(style), clock_(std::move(clock)) {}

progress_style progress_line::style_of(int descriptor) {
  const char* terminal = std::getenv("TERM");
  const bool can_move =
    terminal != nullptr && std::string_view{terminal} != "dumb";
  return ::isatty(descriptor) != 0 && can_move ? progress_style::live
                                               : progress_style::plain;
}

std::chrono::duration<double> progress_line::steady_seconds() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

void progress_line::update(const progress_state& state) {
  if (state.stage != stage_) {
    stage_ = state.stage;
    recent_.clear();
  }
  recent_.push_back({state.step, clock_()});
  if (recent_.size() > num_recent)
    recent_.pop_front();
  shown_ = render(state);
  if (style_ == progress_style::live)
    out_ << clear_line << shown_ << std::flush;
  else
    out_ << shown_ << '\n' << std::flush;
}

void progress_line::print(std::string_view line) {
  if (style_ == progress_style::live)
    out_ << clear_line << printable(line) << '\n' << shown_ << std::flush;
  else
    out_ << printable(line) << '\n' << std::flush;
}

void progress_line::finish() {
  if (style_ == progress_style::live && !shown_.empty())
    out_ << '\n' << std::flush;
  shown_.clear();
}

std::string progress_line::render(const progress_state& state) const {
  auto out = std::string{state.stage} + ' ' + std::to_string(state.step) + '/'
             + std::to_string(state.num_steps);
  if (state.loss)
    out += "  loss " + formatted("%.4f", *state.loss);
  if (state.reward)
    out += "  reward " + formatted("%.3f", *state.reward);
  if (state.tokens_per_s)
    out += "  " + formatted("%.0f", *state.tokens_per_s) + " tokens/s";
  const auto& first = recent_.front();
  if (state.step > first.step) {
    const auto per_step = (recent_.back().at - first.at).count()
                          / static_cast<double>(state.step - first.step);
    out += "  "
           + duration_text(per_step
                           * static_cast<double>(state.num_steps - state.step))
           + " left";
  }
  return out;
}

} // namespace troupe::runtime::outputs
