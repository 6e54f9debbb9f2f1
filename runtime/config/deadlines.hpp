// SPDX-License-Identifier: Apache-2.0
//
// The one table of deadlines. No other file holds a duration that somebody
// waits for; limits.deadline_scale multiplies all of them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace troupe::runtime::config {

/// Whose deadline it is; a row each in `deadlines`.
enum class deadline : std::uint8_t {
  spawn,
  connect,
  heartbeat,
  control,
  load_model,
  generate,
  grade,
  train,
  experience,
  save,
  drain,
  fence,
  abort_tree,
  kill_tree,
};

struct deadline_row {
  deadline id;
  std::string_view name;
  std::chrono::milliseconds duration;
  std::string_view waits_on;
};

/// In the order of the enumerators.
inline constexpr std::array deadlines{
  deadline_row{deadline::spawn, "spawn", std::chrono::seconds{60},
               "a forked process, until its first word"},
  deadline_row{deadline::connect, "connect", std::chrono::seconds{10},
               "a connection between two processes of the job"},
  deadline_row{deadline::heartbeat, "heartbeat", std::chrono::seconds{4},
               "the next heartbeat of a host agent or a rank"},
  deadline_row{deadline::control, "control", std::chrono::seconds{10},
               "a reply for which nothing has to be computed"},
  deadline_row{deadline::load_model, "load_model", std::chrono::minutes{10},
               "weights, optimizer state and tokenizer, read and placed"},
  deadline_row{deadline::generate, "generate", std::chrono::minutes{60},
               "the completions of one rollout batch"},
  deadline_row{deadline::grade, "grade", std::chrono::minutes{10},
               "the rewards of one rollout batch; a single call of a user's "
               "function has reward.timeout_s"},
  deadline_row{deadline::train, "train", std::chrono::minutes{60},
               "the optimizer steps on one rollout batch"},
  deadline_row{deadline::experience, "experience", std::chrono::minutes{2},
               "the columns of one group, from store to trainer"},
  deadline_row{deadline::save, "save", std::chrono::minutes{10},
               "a checkpoint or the final model, written and sealed"},
  deadline_row{deadline::drain, "drain", std::chrono::minutes{2},
               "running units and a last checkpoint after one Ctrl-C"},
  deadline_row{deadline::fence, "fence", std::chrono::minutes{2},
               "the ranks, until all have completed the fence unit"},
  deadline_row{deadline::abort_tree, "abort_tree", std::chrono::seconds{3},
               "processes that were asked to end, before they are killed"},
  deadline_row{deadline::kill_tree, "kill_tree", std::chrono::seconds{2},
               "killed processes, until they are reaped"},
};

/// Returns the duration times `scale` (limits.deadline_scale).
constexpr std::chrono::milliseconds duration_of(deadline id,
                                                double scale = 1.0) {
  const auto& row = deadlines[static_cast<std::size_t>(id)];
  return std::chrono::milliseconds{static_cast<std::int64_t>(
    static_cast<double>(row.duration.count()) * scale)};
}

static_assert([] {
  for (std::size_t i = 0; i < deadlines.size(); ++i)
    if (deadlines[i].id != static_cast<deadline>(i))
      return false;
  return deadlines.back().id == deadline::kill_tree;
}());

} // namespace troupe::runtime::config
