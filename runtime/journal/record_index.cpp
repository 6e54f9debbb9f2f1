// SPDX-License-Identifier: Apache-2.0
#include "runtime/journal/record_index.hpp"

#include <algorithm>
#include <charconv>

namespace troupe::runtime::journal {

namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end ? std::optional{value}
                                             : std::nullopt;
}

} // namespace

std::optional<record_id> parse_reference(std::string_view text) {
  const auto slash = text.rfind('/');
  if (slash == std::string_view::npos)
    return std::nullopt;
  const auto seq = parse_number(text.substr(slash + 1));
  auto process = text.substr(0, slash);
  std::uint64_t incarnation = 1;
  if (const auto colon = process.rfind(':'); colon != std::string_view::npos) {
    const auto number = parse_number(process.substr(colon + 1));
    if (!number)
      return std::nullopt;
    incarnation = *number;
    process = process.substr(0, colon);
  }
  if (!seq || process.empty())
    return std::nullopt;
  return record_id{std::string{process}, incarnation, *seq};
}

std::uint64_t first_told(const entry& r) {
  if (r.what.kind == "gap")
    for (const auto& [key, value] : r.what.d)
      if (key == "first")
        if (const auto* first = std::get_if<std::uint64_t>(&value))
          return *first;
  return r.seq;
}

bool is_terminal_record(const entry& r) {
  return r.what.kind == "control" && r.what.event == "journal_closed";
}

record_index::record_index(const std::vector<process_journal>& journals) {
  for (const auto& journal : journals)
    for (const auto& r : journal.records) {
      auto& one = incarnations_[{r.process, r.incarnation}];
      const auto expected =
        one.records.empty() ? 1 : one.records.back()->seq + 1;
      one.is_complete = one.is_complete && r.seq == expected;
      one.is_closed = one.is_closed || is_terminal_record(r);
      one.records.push_back(&r);
    }
}

const entry* record_index::find(const record_id& id) const {
  const auto one = incarnations_.find({id.process, id.incarnation});
  if (one == incarnations_.end())
    return nullptr;
  const auto& records = one->second.records;
  const auto it = std::lower_bound(
    records.begin(), records.end(), id.seq,
    [](const entry* r, std::uint64_t seq) { return r->seq < seq; });
  return it != records.end() && (*it)->seq == id.seq ? *it : nullptr;
}

record_index::presence record_index::find_presence(const record_id& id) const {
  if (find(id) != nullptr)
    return presence::present;
  const auto one = incarnations_.find({id.process, id.incarnation});
  // A process whose journal is not here may be on another host.
  if (one == incarnations_.end() || !one->second.is_complete)
    return presence::unknown;
  const bool is_later = id.seq > one->second.records.back()->seq;
  return is_later && !one->second.is_closed ? presence::unknown
                                            : presence::absent;
}

const entry* record_index::find_last(std::string_view subject) const {
  const entry* last = nullptr;
  for (const auto& [key, one] : incarnations_)
    for (const auto* r : one.records)
      if (r->what.subject == subject
          && (last == nullptr || r->realtime_ns >= last->realtime_ns))
        last = r;
  return last;
}

} // namespace troupe::runtime::journal
