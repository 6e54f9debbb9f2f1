// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/views.hpp"

#include "runtime/inspect/card_reader.hpp"
#include "runtime/inspect/text_table.hpp"
#include "runtime/inspect/view_json.hpp"
#include "runtime/journal/reader.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

namespace troupe::runtime::inspect {

namespace {

std::string states_of(const actor_view& actor) {
  std::string text;
  for (const auto& state : actor.states)
    text += (text.empty() ? "" : ", ") + state.machine + "=" + state.state + " "
            + age_text(state.age);
  return text.empty() ? "-" : text;
}

std::string activity_of(const actor_view& actor, const process_view& process) {
  if (actor.ended)
    return "ended";
  std::string text = actor.handler.empty() ? "idle" : actor.handler;
  text += " " + age_text(actor.activity_age);
  if (process.life == process_life::stopped)
    return text + " (frozen)";
  if (process.life == process_life::gone)
    return text + " (gone)";
  return text;
}

std::string number(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : "-";
}

std::string note_of(const actor_view& actor) {
  std::string note;
  if (actor.ended)
    note = "ended: " + *actor.ended;
  if (!actor.last_error.empty())
    note += (note.empty() ? "" : "; ") + ("error: " + actor.last_error);
  return note;
}

/// "run r  3 processes, 2 running, 1 gone", and below it whom the views lack.
void print_head(const std::vector<process_view>& processes,
                const std::filesystem::path& run_dir, std::ostream& out) {
  std::map<std::string, int> lives;
  std::string run_id;
  std::int64_t newest = 0; // a resumed job leaves the files of earlier runs
  for (const auto& process : processes) {
    if (process.start_realtime_ns > newest) {
      newest = process.start_realtime_ns;
      run_id = process.run_id;
    }
    ++lives[process.unreadable ? "unreadable"
                               : std::string{to_string(process.life)}];
  }
  out << "run " << (run_id.empty() ? "?" : one_line(run_id)) << " in "
      << run_dir.string() << ": " << processes.size() << " processes";
  for (const auto& [life, count] : lives)
    out << ", " << count << ' ' << life;
  out << '\n';
}

void print_missing(const std::vector<process_view>& processes,
                   std::ostream& out) {
  for (const auto& process : processes) {
    if (process.unreadable)
      out << "incomplete: " << process.file.string() << ": "
          << *process.unreadable << '\n';
    if (process.cards_refused > 0)
      out << "incomplete: " << process.name << ": " << process.cards_refused
          << " actors found no place in the card file\n";
  }
}

int print_json(const json_view& view, std::ostream& out) {
  out << view.text() << '\n';
  return view.is_empty() ? 1 : 0;
}

int refuse_empty(const std::filesystem::path& run_dir, std::ostream& out) {
  out << "no card files in " << (run_dir / "cards").string() << '\n';
  return 1;
}

struct tree_printer {
  const process_view& process;
  std::map<std::string, std::vector<const actor_view*>> children = {};
  std::set<const actor_view*> printed = {};
  text_table table{{"actor", "states", "activity", ">mbox", "note"}};

  void add(const actor_view& actor, std::size_t depth) {
    if (!printed.insert(&actor).second)
      return; // a name that was used again
    auto note = note_of(actor);
    if (depth == 0 && !actor.owner.empty())
      note = "owner: " + actor.owner + (note.empty() ? "" : "; ") + note;
    table.add({std::string(2 * depth, ' ') + actor.name, states_of(actor),
               activity_of(actor, process), std::to_string(actor.mailbox),
               note});
    for (const auto* child : children[actor.name])
      add(*child, depth + 1);
  }
};

} // namespace

int inspect_actors(const std::filesystem::path& run_dir, view_format format,
                   std::ostream& out) {
  const auto processes = read_cards(run_dir);
  if (format == view_format::json)
    return print_json(actors_json(processes), out);
  if (processes.empty())
    return refuse_empty(run_dir, out);
  print_head(processes, run_dir, out);
  text_table table{{"process", "actor", "states", "activity", ">mbox", ">max",
                    ">in", ">out", ">step", ">ver", ">fail", "note"}};
  for (const auto& process : processes)
    for (const auto& actor : process.actors)
      table.add({process.name, actor.name, states_of(actor),
                 activity_of(actor, process), std::to_string(actor.mailbox),
                 std::to_string(actor.mailbox_max),
                 std::to_string(actor.in_total),
                 std::to_string(actor.out_total), number(actor.step),
                 number(actor.policy_version), std::to_string(actor.failures),
                 note_of(actor)});
  table.print(out);
  print_missing(processes, out);
  return 0;
}

int inspect_tree(const std::filesystem::path& run_dir, view_format format,
                 std::ostream& out) {
  const auto processes = read_cards(run_dir);
  if (format == view_format::json)
    return print_json(tree_json(processes), out);
  if (processes.empty())
    return refuse_empty(run_dir, out);
  print_head(processes, run_dir, out);
  for (const auto& process : processes) {
    if (process.unreadable)
      continue;
    out << '\n'
        << process.name << "  " << to_string(process.kind) << "  pid "
        << process.pid << "  " << to_string(process.life) << "  "
        << one_line(process.state);
    if (!process.end.empty())
      out << "  end: " << one_line(process.end);
    out << '\n';
    std::set<std::string> here;
    for (const auto& actor : process.actors)
      here.insert(actor.name);
    tree_printer tree{process};
    for (const auto& actor : process.actors)
      if (here.contains(actor.owner) && actor.owner != actor.name)
        tree.children[actor.owner].push_back(&actor);
    for (const auto& actor : process.actors)
      if (!here.contains(actor.owner) || actor.owner == actor.name)
        tree.add(actor, 0);
    for (const auto& actor : process.actors)
      tree.add(actor, 0); // only those whose owners own each other
    tree.table.print(out, "  ");
  }
  print_missing(processes, out);
  return 0;
}

int inspect_processes(const std::filesystem::path& run_dir, view_format format,
                      std::ostream& out) {
  const auto processes = read_cards(run_dir);
  std::map<std::string, journal::entry> last;
  for (auto& journal : journal::read_journals(run_dir))
    if (!journal.records.empty())
      last[journal.process] = journal.records.back();
  if (format == view_format::json)
    return print_json(processes_json(processes, last), out);
  if (processes.empty())
    return refuse_empty(run_dir, out);
  print_head(processes, run_dir, out);
  text_table table{{"process", "kind", ">pid", ">inc", "life", ">age", "state",
                    "busy with", "last record", "end"}};
  for (const auto& process : processes) {
    if (process.unreadable)
      continue;
    std::string handlers;
    for (const auto& actor : process.actors)
      if (!actor.handler.empty())
        handlers += (handlers.empty() ? "" : ", ") + actor.handler + " "
                    + age_text(actor.activity_age);
    std::string record = "-";
    if (const auto it = last.find(process.name); it != last.end())
      record = time_text(it->second.realtime_ns) + " " + it->second.what.subject
               + " " + it->second.what.kind + " " + it->second.what.from + "->"
               + it->second.what.to;
    table.add({process.name, std::string{to_string(process.kind)},
               std::to_string(process.pid), std::to_string(process.incarnation),
               std::string{to_string(process.life)}, age_text(process.age),
               process.state, handlers.empty() ? "-" : handlers, record,
               process.end.empty() ? "-" : process.end});
  }
  table.print(out);
  print_missing(processes, out);
  return 0;
}

} // namespace troupe::runtime::inspect
