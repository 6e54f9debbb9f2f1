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
  fork,
  connect,
  silence,
  control,
  load_model,
  generate,
  worker_start,
  grade,
  train,
  experience,
  save,
  answer_slack,
  drain,
  fence,
  abort,
  exit_report,
  after_loss,
  after_abort,
  after_report,
  flush,
  terminate,
  reap,
  worker_end,
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
  deadline_row{deadline::fork, "fork", std::chrono::seconds{5},
               "the launcher, until it has forked what was asked for"},
  deadline_row{deadline::connect, "connect", std::chrono::seconds{10},
               "a connection between two processes of the job"},
  deadline_row{deadline::silence, "silence", std::chrono::seconds{10},
               "a peer without a heartbeat, before it counts as lost"},
  deadline_row{deadline::control, "control", std::chrono::seconds{10},
               "a reply for which nothing has to be computed"},
  deadline_row{deadline::load_model, "load_model", std::chrono::minutes{10},
               "weights, optimizer state and tokenizer, read and placed"},
  deadline_row{deadline::generate, "generate", std::chrono::minutes{60},
               "the completions of one rollout batch"},
  deadline_row{deadline::worker_start, "worker_start", std::chrono::seconds{60},
               "a reward worker, until it has imported its functions"},
  deadline_row{deadline::grade, "grade", std::chrono::minutes{10},
               "the rewards of one rollout batch, unless reward.timeout_s "
               "times the groups of a worker is more"},
  deadline_row{deadline::train, "train", std::chrono::minutes{60},
               "the optimizer steps on one rollout batch"},
  deadline_row{deadline::experience, "experience", std::chrono::minutes{2},
               "the columns of one group, from store to trainer"},
  deadline_row{deadline::save, "save", std::chrono::minutes{10},
               "a checkpoint or the final model, written and sealed"},
  deadline_row{deadline::answer_slack, "answer_slack", std::chrono::seconds{1},
               "the loop, past a request's own deadline: that error "
               "names more"},
  deadline_row{deadline::drain, "drain", std::chrono::minutes{2},
               "running units and a last checkpoint after one Ctrl-C"},
  deadline_row{deadline::fence, "fence", std::chrono::minutes{2},
               "the ranks, until all have completed the fence unit"},
  deadline_row{deadline::abort, "abort", std::chrono::seconds{3},
               "the ranks, until they have dropped all"},
  deadline_row{deadline::exit_report, "exit_report", std::chrono::seconds{1},
               "the launcher's word on a process whose connection "
               "ended"},
  deadline_row{deadline::after_loss, "after_loss", std::chrono::seconds{3},
               "the coordinator's end after the loss of a rank"},
  deadline_row{deadline::after_abort, "after_abort", std::chrono::seconds{10},
               "the coordinator's end after a second Ctrl-C"},
  deadline_row{deadline::after_report, "after_report", std::chrono::seconds{20},
               "the coordinator's end after it has told its result"},
  deadline_row{deadline::flush, "flush", std::chrono::seconds{1},
               "what is queued for the launcher, when a process ends"},
  deadline_row{deadline::terminate, "terminate", std::chrono::seconds{1},
               "processes that were asked to end, before they are killed"},
  deadline_row{deadline::reap, "reap", std::chrono::seconds{5},
               "killed processes, until they are reaped"},
  deadline_row{deadline::worker_end, "worker_end", std::chrono::seconds{2},
               "what a worker's function has forked, killed, until it "
               "is reaped"},
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
  return deadlines.back().id == deadline::worker_end;
}());

} // namespace troupe::runtime::config
