// SPDX-License-Identifier: Apache-2.0
//
// `troupe journal why ID`.
#include "runtime/inspect/text_table.hpp"
#include "runtime/journal/check.hpp"
#include "runtime/journal/record_index.hpp"

#include <ostream>
#include <set>
#include <string>

namespace troupe::runtime::journal {

namespace {

/// Records shown of one chain.
constexpr std::size_t max_shown = 40;

std::string cause_text(const cause& because) {
  std::string text{to_string(because.type)};
  if (!because.by.empty())
    text += (text.empty() ? "" : " ") + because.by;
  return text;
}

void print(const entry& r, std::ostream& out) {
  const auto& what = r.what;
  out << reference(r) << "  " << inspect::time_text(r.realtime_ns) << "  "
      << what.subject << "  " << what.kind << ' ';
  if (!what.from.empty() || !what.to.empty()) // a command moves nothing
    out << what.from << " -> " << what.to << "  by ";
  out << what.event;
  if (what.step)
    out << "  step " << *what.step;
  out << '\n';
}

} // namespace

int why_journal(const std::filesystem::path& dir, std::string_view id,
                std::ostream& out) {
  const auto journals = read_journals(dir);
  const record_index index{journals};
  const entry* at = nullptr;
  if (const auto parsed = parse_reference(id))
    at = index.find(*parsed);
  if (at == nullptr)
    at = index.find_last(id);
  if (at == nullptr) {
    out << "no record or subject '" << id << "' in " << dir.string()
        << "; an id looks like rank-0/17 (see: troupe inspect journal)\n";
    return 2;
  }
  std::set<const entry*> seen;
  while (seen.insert(at).second) {
    if (seen.size() > max_shown) {
      out << "and so on, " << max_shown
          << " records shown; go on with: troupe journal why " << dir.string()
          << ' ' << reference(*at) << '\n';
      return 0;
    }
    print(*at, out);
    const auto& because = at->what.because;
    if (because.ref.empty()) {
      out << "  "
          << (because.type == cause_type::none
                ? "no cause is recorded"
                : "because: " + cause_text(because))
          << '\n';
      return 0;
    }
    out << "  because: " << cause_text(because) << '\n';
    const auto next = parse_reference(because.ref);
    const auto* found = next ? index.find(*next) : nullptr;
    if (found == nullptr) {
      out << because.ref
          << "  this record is not in the journals: dropped, rotated away, or "
             "not written before its process was killed\n";
      return 0;
    }
    at = found;
  }
  out << "these causes form a circle: see troupe journal check\n";
  return 0;
}

} // namespace troupe::runtime::journal
