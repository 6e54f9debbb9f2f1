// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/text_table.hpp"
#include "runtime/inspect/view_json.hpp"
#include "runtime/inspect/views.hpp"
#include "runtime/journal/reader.hpp"

#include <algorithm>
#include <ostream>

namespace troupe::runtime::inspect {

namespace {

bool matches(const std::string& pattern, const std::string& subject) {
  if (pattern.ends_with('*'))
    return subject.starts_with(pattern.substr(0, pattern.size() - 1));
  return subject == pattern;
}

bool is_wanted(const journal::entry& r, const journal_view_options& options) {
  return (!options.process || r.process == *options.process)
         && (!options.kind || r.what.kind == *options.kind)
         && (!options.subject || matches(*options.subject, r.what.subject));
}

std::string cause_text(const journal::cause& because) {
  std::string text{to_string(because.type)};
  for (const auto* part : {&because.by, &because.ref})
    if (!part->empty())
      text += (text.empty() ? "" : " ") + *part;
  return text;
}

std::string detail_text(const journal::detail_value& value) {
  if (const auto* text = std::get_if<std::string>(&value))
    return *text;
  if (const auto* flag = std::get_if<bool>(&value))
    return *flag ? "true" : "false";
  if (const auto* real = std::get_if<double>(&value))
    return std::to_string(*real);
  if (const auto* count = std::get_if<std::uint64_t>(&value))
    return std::to_string(*count);
  return std::to_string(std::get<std::int64_t>(value));
}

std::string details_text(const journal::transition& what) {
  std::string text;
  if (what.step)
    text += "step=" + std::to_string(*what.step) + " ";
  if (what.policy_version)
    text += "ver=" + std::to_string(*what.policy_version) + " ";
  for (const auto& [key, value] : what.d)
    text += key + "=" + detail_text(value) + " ";
  return text;
}

} // namespace

int inspect_journal(const std::filesystem::path& run_dir, view_format format,
                    const journal_view_options& options, std::ostream& out) {
  const auto journals = journal::read_journals(run_dir);
  std::vector<std::string> missing;
  for (const auto& one : journals)
    for (const auto& bad : one.bad_lines)
      missing.push_back(bad.file.string() + ":" + std::to_string(bad.line)
                        + ": " + bad.reason);
  auto records = journal::merge_by_time(journals);
  std::erase_if(records, [&](const auto& r) { return !is_wanted(r, options); });
  const auto num_matching = records.size();
  if (records.size() > options.last)
    records.erase(records.begin(),
                  records.end() - static_cast<std::ptrdiff_t>(options.last));
  if (format == view_format::json) {
    const auto view = journal_json(records, missing);
    out << view.text() << '\n';
    return journals.empty() ? 1 : 0;
  }
  if (journals.empty()) {
    out << "no journal in " << (run_dir / "journal").string() << '\n';
    return 1;
  }
  text_table table{
    {"time", "id", "kind", "subject", "move", "event", "cause", "details"}};
  for (const auto& r : records)
    table.add({time_text(r.realtime_ns), reference(r), r.what.kind,
               r.what.subject, r.what.from + " -> " + r.what.to, r.what.event,
               cause_text(r.what.because), details_text(r.what)});
  table.print(out);
  out << records.size() << " of " << num_matching << " records\n";
  for (const auto& item : missing)
    out << "incomplete: " << item << '\n';
  return 0;
}

} // namespace troupe::runtime::inspect
