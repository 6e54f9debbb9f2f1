// SPDX-License-Identifier: Apache-2.0
//
// Holding journals against the tables: `troupe journal check DIR` and
// `troupe journal why ID`.
#pragma once

#include "runtime/journal/reader.hpp"

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::journal {

/// What the check asks the tables. `tables_of_protocols` answers from
/// protocols/machines.hpp; tests put in their own.
struct machine_tables {
  /// The initial state of a machine; nothing for a kind that is no machine.
  std::function<std::optional<std::string>(std::string_view machine)> initial;
  std::function<bool(std::string_view machine, std::string_view from,
                     std::string_view event, std::string_view to)>
    is_edge;
};

machine_tables tables_of_protocols();

/// What is wrong with a record.
struct finding {
  std::string where; ///< the record's reference, or file:line
  std::string rule;  ///< seq, edge, chain, start, terminal, line, or a rule of
                     ///< DESIGN section 4 such as rule_6
  std::string text;
};

/// Returns what breaks a rule, in the order of the files.
std::vector<finding>
check_journals(const std::vector<process_journal>& journals,
               const machine_tables& tables);

/// Prints findings and a closing line with the numbers. Returns 0 when there
/// are none, 1 when there are, 2 when there is no journal to check.
int check_journal(const std::filesystem::path& dir, std::ostream& out);

/// Prints the chain of causes of a record ("rank-0/17") or of the last record
/// of a subject, nearest first. Returns 0; 2 when there is no such record.
int why_journal(const std::filesystem::path& dir, std::string_view id,
                std::ostream& out);

} // namespace troupe::runtime::journal
