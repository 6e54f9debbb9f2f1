// SPDX-License-Identifier: Apache-2.0
//
// Holding journals against the tables: `troupe journal check DIR` and
// `troupe journal why ID`.
#pragma once

#include "runtime/journal/reader.hpp"

#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::journal {

/// What is wrong with a record.
struct finding {
  std::string where; ///< the record's reference, or file:line
  std::string rule;  ///< one of the names below
  std::string text;
};

/// Returns what breaks a rule, process by process in the order of the files:
///
/// - line: a line in the midst of a file is no record;
/// - seq: numbers are gapless but for what a gap record names;
/// - edge: each move is a row of its machine's table;
/// - chain: a subject moves on from where it was, and
/// - start: begins in the initial state, unless another process had it before;
/// - cause: the record behind it exists and is older;
/// - terminal: at most one terminal record, and nothing after it;
/// - weights: no rollout generates while the weights that it reads are in
///   training or torn, and no update begins while it does (DESIGN 2, rule 6);
/// - cache: no rollout generates in a cache that is given back (rule 2);
/// - admission: no group is dispatched once the shutdown has begun.
///
/// The last three compare what one process recorded, in its own order.
std::vector<finding>
check_journals(const std::vector<process_journal>& journals);

/// Prints findings and a closing line with the numbers. Returns 0 when there
/// are none, 1 when there are, 2 when there is no journal to check.
int check_journal(const std::filesystem::path& dir, std::ostream& out);

/// Prints the chain of causes of a record ("rank-0/17") or of the last record
/// of a subject, nearest first, at most 40. Returns 0; 2 when there is no such
/// record.
int why_journal(const std::filesystem::path& dir, std::string_view id,
                std::ostream& out);

} // namespace troupe::runtime::journal
