// SPDX-License-Identifier: Apache-2.0
//
// `troupe inspect`: tables for people and JSON for programs, made of the card
// files and journals of one run directory. Every view says what it could not
// read. Each function returns the command's exit code: 0, or 1 with a text on
// the stream when nothing could be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>

namespace troupe::runtime::inspect {

enum class view_format : std::uint8_t { text, json };

/// Every actor with its state, what it is doing and for how long.
int inspect_actors(const std::filesystem::path& run_dir, view_format format,
                   std::ostream& out);

/// The same by ownership: process, roots, and whom they own.
int inspect_tree(const std::filesystem::path& run_dir, view_format format,
                 std::ostream& out);

/// Processes: alive, frozen or gone, how they ended, the journal's last record.
int inspect_processes(const std::filesystem::path& run_dir, view_format format,
                      std::ostream& out);

struct journal_view_options {
  std::size_t last = 50;                   ///< records shown, the newest ones
  std::optional<std::string> process = {}; ///< exact name
  std::optional<std::string> kind = {};    ///< machine, or another kind
  std::optional<std::string> subject = {}; ///< exact, or a prefix ending in '*'
};

/// Records of all processes, merged by time.
int inspect_journal(const std::filesystem::path& run_dir, view_format format,
                    const journal_view_options& options, std::ostream& out);

/// Returns the run directory to look at: the given one, or the newest run at or
/// below the current folder (it has cards/ or journal/), at most
/// `search_depth` levels down.
///
/// Errors: io_failed, naming what was searched and what to do.
std::filesystem::path
find_run_directory(const std::optional<std::filesystem::path>& given);

} // namespace troupe::runtime::inspect
