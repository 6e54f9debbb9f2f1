// SPDX-License-Identifier: Apache-2.0
#include "runtime/journal/reader.hpp"

#include "runtime/journal/journal_file.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

namespace troupe::runtime::journal {

namespace {

/// One file, in the order of the index; the newest, without a number, is last.
struct part {
  std::uint64_t index;
  std::filesystem::path file;
};

void read_file(const std::filesystem::path& file, process_journal& journal) {
  std::ifstream in{file, std::ios::binary};
  const std::string all{std::istreambuf_iterator<char>{in}, {}};
  std::string_view rest = all;
  std::optional<bad_line> held; // torn, if an incarnation begins after it
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) {
      ++journal.torn_lines;
      break;
    }
    auto parsed = parse_line(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    if (auto* r = std::get_if<entry>(&parsed)) {
      const bool is_new =
        journal.records.empty()
        || journal.records.back().incarnation != r->incarnation;
      if (held && is_new)
        ++journal.torn_lines;
      else if (held)
        journal.bad_lines.push_back(std::move(*held));
      held.reset();
      journal.records.push_back(std::move(*r));
      continue;
    }
    if (held)
      journal.bad_lines.push_back(std::move(*held));
    held = bad_line{file, number, std::get<std::string>(parsed)};
  }
  if (held)
    journal.bad_lines.push_back(std::move(*held));
}

/// Returns the boot that a journal's opening record names.
std::string boot_of(const entry& r) {
  for (const auto& [key, value] : r.what.d)
    if (key == "boot" && std::holds_alternative<std::string>(value))
      return std::get<std::string>(value);
  return {};
}

} // namespace

std::vector<process_journal> read_journals(const std::filesystem::path& dir) {
  std::error_code error;
  const auto folder = std::filesystem::is_directory(dir / "journal", error)
                        ? dir / "journal"
                        : dir;
  std::map<std::string, std::vector<part>> processes;
  std::filesystem::directory_iterator entry{folder, error}, end;
  while (!error && entry != end) {
    auto name = parse_journal_name(entry->path());
    if (!name.process_file.empty())
      processes[name.process_file].push_back(
        {name.index == 0 ? ~std::uint64_t{0} : name.index, entry->path()});
    entry.increment(error);
  }
  std::vector<process_journal> result;
  for (auto& [name, parts] : processes) {
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.index < b.index; });
    process_journal journal;
    journal.process = name;
    for (const auto& one : parts)
      read_file(one.file, journal);
    if (!journal.records.empty()) {
      journal.process = journal.records.front().process;
      journal.starts_late = parts.size() > 1 && parts.front().index > 1;
    }
    result.push_back(std::move(journal));
  }
  return result;
}

std::vector<entry> merge_by_time(const std::vector<process_journal>& journals) {
  // One wall-clock time per boot is enough; from there the monotonic clock,
  // which nobody sets, orders the records of all its processes.
  std::map<std::string, std::int64_t> offset_of_boot;
  std::vector<std::pair<std::int64_t, const entry*>> order;
  for (const auto& journal : journals) {
    std::uint64_t incarnation = 0;
    std::int64_t offset = 0;
    for (const auto& r : journal.records) {
      if (incarnation != r.incarnation) {
        incarnation = r.incarnation;
        offset = r.realtime_ns - r.mono_ns;
        if (const auto boot = boot_of(r); !boot.empty())
          offset = offset_of_boot.try_emplace(boot, offset).first->second;
      }
      order.emplace_back(offset + r.mono_ns, &r);
    }
  }
  std::stable_sort(
    order.begin(), order.end(),
    [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<entry> all;
  all.reserve(order.size());
  for (const auto& [time, r] : order)
    all.push_back(*r);
  return all;
}

} // namespace troupe::runtime::journal
