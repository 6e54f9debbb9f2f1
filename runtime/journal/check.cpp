// SPDX-License-Identifier: Apache-2.0
#include "runtime/journal/check.hpp"

#include "protocols/machines.hpp"
#include "runtime/journal/cross_rules.hpp"
#include "runtime/journal/record_index.hpp"

#include <map>
#include <ostream>
#include <set>

namespace troupe::runtime::journal {

namespace {

using subject_key = std::pair<std::string, std::string>; // kind, subject

subject_key key_of(const entry& r) {
  return {r.what.kind, r.what.subject};
}

/// Which processes tell of a subject: one that takes over from another need
/// not begin at the beginning.
using tellers = std::map<subject_key, std::set<std::string>>;

class process_check {
public:
  process_check(const process_journal& journal, const record_index& index,
                const tellers& who_tells, std::vector<finding>& out)
    : journal_(journal), index_(index), who_tells_(who_tells), out_(out),
      is_open_ended_(journal.starts_late) {}

  void run() {
    for (const auto& bad : journal_.bad_lines)
      out_.push_back({bad.file.string() + ":" + std::to_string(bad.line),
                      "line", "not a record: " + bad.reason});
    for (const auto& r : journal_.records) {
      if (r.incarnation != incarnation_)
        begin_incarnation(r);
      check_seq(r);
      check_terminal(r);
      if (const auto* machine = protocols::find_machine(r.what.kind)) {
        check_edge(*machine, r);
        check_chain(*machine, r);
        states_.insert_or_assign(key_of(r), r.what.to);
      }
      check_cause(r);
      rules_.check(r, out_);
    }
  }

private:
  void add(const entry& r, const char* rule, std::string text) {
    out_.push_back({reference(r), rule, std::move(text)});
  }

  void begin_incarnation(const entry& r) {
    // Only the oldest files of a journal are removed.
    is_open_ended_ = incarnation_ == 0 && journal_.starts_late;
    incarnation_ = r.incarnation;
    last_seq_ = is_open_ended_ ? first_told(r) - 1 : 0;
    closed_by_.clear();
    states_.clear();
    rules_ = cross_rules{};
  }

  void check_seq(const entry& r) {
    if (first_told(r) != last_seq_ + 1)
      add(r, "seq",
          "number " + std::to_string(r.seq) + " follows "
            + std::to_string(last_seq_)
            + (r.seq > last_seq_ ? ": records are missing and no gap record "
                                   "names them"
                                 : ": out of order, or twice"));
    if (r.what.kind == "gap") {
      is_open_ended_ = true; // what happened in it is not known
      states_.clear();
      rules_ = cross_rules{};
    }
    last_seq_ = r.seq;
  }

  void check_terminal(const entry& r) {
    if (!closed_by_.empty())
      add(r, "terminal", "a record after the terminal record " + closed_by_);
    if (is_terminal_record(r))
      closed_by_ = reference(r);
  }

  void check_edge(const protocols::machine_description& machine,
                  const entry& r) {
    const auto& what = r.what;
    if (auto why =
          protocols::why_not_edge(machine, what.from, what.event, what.to))
      add(r, "edge", what.subject + ": " + *why);
  }

  void check_chain(const protocols::machine_description& machine,
                   const entry& r) {
    const auto& what = r.what;
    const auto before = states_.find(key_of(r));
    if (before == states_.end()) {
      if (what.from != machine.initial && !is_open_ended_
          && who_tells_.at(key_of(r)).size() == 1)
        add(r, "start",
            what.subject + ": the first record of " + what.kind + " is from '"
              + what.from + "', it begins as '" + std::string{machine.initial}
              + "'");
      return;
    }
    // The next of the same name, as an actor that was started again.
    const bool is_next = protocols::is_terminal(machine, before->second)
                         && what.from == machine.initial;
    if (before->second != what.from && !is_next)
      add(r, "chain",
          what.subject + ": " + what.kind + " was '" + before->second
            + "', this move is from '" + what.from + "'");
  }

  void check_cause(const entry& r) {
    const auto& ref = r.what.because.ref;
    if (ref.empty())
      return;
    const auto id = parse_reference(ref);
    if (!id)
      add(r, "cause", "the cause '" + ref + "' is no reference");
    else if (id->process == r.process && id->incarnation == r.incarnation
             && id->seq >= r.seq)
      add(r, "cause", "the cause " + ref + " is not older");
    else if (index_.find_presence(*id) == record_index::presence::absent)
      add(r, "cause", "the cause " + ref + " does not exist");
  }

  const process_journal& journal_;
  const record_index& index_;
  const tellers& who_tells_;
  std::vector<finding>& out_;
  bool is_open_ended_; ///< earlier records are gone
  std::uint64_t incarnation_ = 0, last_seq_ = 0;
  std::string closed_by_;
  std::map<subject_key, std::string> states_;
  cross_rules rules_;
};

} // namespace

std::vector<finding>
check_journals(const std::vector<process_journal>& journals) {
  const record_index index{journals};
  tellers who_tells;
  for (const auto& journal : journals)
    for (const auto& r : journal.records)
      who_tells[key_of(r)].insert(r.process);
  std::vector<finding> out;
  for (const auto& journal : journals)
    process_check{journal, index, who_tells, out}.run();
  return out;
}

int check_journal(const std::filesystem::path& dir, std::ostream& out) {
  const auto journals = read_journals(dir);
  std::size_t num_records = 0, num_torn = 0;
  std::uint64_t num_dropped = 0;
  for (const auto& journal : journals) {
    num_torn += journal.torn_lines;
    for (const auto& r : journal.records) {
      ++num_records;
      if (r.what.kind == "gap")
        num_dropped += r.seq + 1 - first_told(r);
    }
  }
  if (num_records == 0) {
    out << "no journal record in " << dir.string()
        << ": neither DIR/journal/*.jsonl nor DIR/*.jsonl\n";
    return 2;
  }
  const auto findings = check_journals(journals);
  for (const auto& f : findings)
    out << f.where << ": " << f.rule << ": " << f.text << '\n';
  out << num_records << " records of " << journals.size()
      << " processes: " << findings.size() << " findings";
  if (num_dropped > 0)
    out << ", " << num_dropped << " records dropped and counted";
  if (num_torn > 0)
    out << ", " << num_torn << " torn last lines ignored";
  out << '\n';
  return findings.empty() ? 0 : 1;
}

} // namespace troupe::runtime::journal
