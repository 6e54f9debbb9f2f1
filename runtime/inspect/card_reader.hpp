// SPDX-License-Identifier: Apache-2.0
//
// Reading the card files of a run directory, whatever their processes do:
// running, frozen, dead, or never of ours. Nothing here talks to a process.
#pragma once

#include "runtime/inspect/card_file.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::runtime::inspect {

/// What has become of a process.
enum class process_life : std::uint8_t {
  running,
  stopped,  ///< by SIGSTOP or a debugger
  gone,     ///< no such process, or its number belongs to another now
  elsewhere ///< another host or boot: this one cannot know
};

std::string_view to_string(process_life life);

struct state_view {
  std::string machine, state;
  std::chrono::nanoseconds age{}; ///< since the machine entered it
};

struct event_view {
  std::chrono::nanoseconds age{};
  std::int64_t realtime_ns = 0; ///< Unix time
  std::string machine, from, to, event, text;
};

struct actor_view {
  std::string name, kind, owner;
  std::vector<state_view> states;
  /// The message in work; empty when idle.
  std::string handler;
  std::chrono::nanoseconds activity_age{}; ///< of the handler, or of idling
  std::uint64_t in_total = 0, out_total = 0;
  std::uint64_t mailbox = 0, mailbox_max = 0;
  std::uint64_t failures = 0;
  std::string last_error;
  std::optional<std::uint64_t> step, policy_version;
  /// Set once the actor ended.
  std::optional<std::string> ended;
  std::chrono::nanoseconds age{};
  std::vector<event_view> events; ///< oldest first, at most 256
  std::uint64_t num_events = 0;   ///< ever recorded
};

struct process_view {
  std::filesystem::path file;
  /// Why the file cannot be read: named, not an error of the caller. All else
  /// is unset then, but for the name, which is the file's.
  std::optional<std::string> unreadable;
  std::string name, run_id, host;
  process_kind kind = process_kind::worker;
  std::int64_t pid = 0;
  std::uint64_t incarnation = 0;
  process_life life = process_life::gone;
  std::int64_t start_realtime_ns = 0;
  std::chrono::nanoseconds age{};
  std::string state;               ///< what it said it was about
  std::string end;                 ///< how it ended, where anybody knows
  std::uint64_t cards_refused = 0; ///< actors that found no place
  std::vector<actor_view> actors;
};

/// Returns the cards of every process of a run, by name. An absent folder is
/// an empty list. Blocks on nothing but the page cache.
std::vector<process_view> read_cards(const std::filesystem::path& run_dir);

/// Returns the cards of one file.
process_view read_card_file(const std::filesystem::path& file);

} // namespace troupe::runtime::inspect
