// SPDX-License-Identifier: Apache-2.0
//
// An entry (record) of the transition journal: what changed, from where to
// where, and what made it change. Written as one JSON line (docs/inspection.md
// has the fields).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::runtime::journal {

/// What made something happen.
enum class cause_type : std::uint8_t {
  none,
  message,
  timeout,
  down,
  by_operator, ///< "operator" in the file
  signal,
  rule
};

/// Returns the word in the file, "" for none.
std::string_view to_string(cause_type type);

struct cause {
  cause_type type = cause_type::none;
  /// The record behind it, as `writer::record` returned it; may be empty.
  std::string ref = {};
  /// Who: an actor's name, "SIGINT", a rule's name.
  std::string by = {};
};

/// A value of the small object `d`. Non-finite numbers become the strings
/// "nan", "inf", "-inf".
using detail_value =
  std::variant<std::int64_t, std::uint64_t, double, bool, std::string>;
using details = std::vector<std::pair<std::string, detail_value>>;

/// What a caller records.
struct transition {
  std::string kind = {}; ///< the machine's name, or control, link, script, ...
  std::string subject = {}; ///< who changed, such as "rollout/dp=0/tp=0"
  std::string from = {}, to = {}, event = {};
  cause because = {};
  std::optional<std::uint64_t> step = {}, policy_version = {};
  std::optional<std::uint32_t> job_epoch = {};
  details d = {};
};

/// A transition as it stands in a file.
struct entry {
  int v = 1;
  std::string run, process;
  std::uint64_t incarnation = 1, seq = 0;
  std::int64_t realtime_ns = 0, mono_ns = 0;
  transition what;
};

/// Returns "process/seq", with ":incarnation" after the process from the
/// second one on.
std::string reference(std::string_view process, std::uint64_t incarnation,
                      std::uint64_t seq);
std::string reference(const entry& r);

/// Returns the line without its end.
std::string to_line(const entry& r);

/// Reads a line. Returns the reason, a short text, where it is not a record.
std::variant<entry, std::string> parse_line(std::string_view line);

} // namespace troupe::runtime::journal
