// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/view_json.hpp"

#include "runtime/inspect/process_identity.hpp"

#include <nlohmann/json.hpp>

#include <set>

namespace troupe::runtime::inspect {

namespace {

using json = nlohmann::ordered_json;

double seconds(std::chrono::nanoseconds age) {
  return std::chrono::duration<double>(age).count();
}

double unix_seconds(std::int64_t realtime_ns) {
  return static_cast<double>(realtime_ns) * 1e-9;
}

json nullable(const std::optional<std::uint64_t>& value) {
  return value ? json(*value) : json(nullptr);
}

json actor_json(const actor_view& actor) {
  json states = json::array(), events = json::array();
  for (const auto& state : actor.states)
    states.push_back({{"machine", state.machine},
                      {"state", state.state},
                      {"age", seconds(state.age)}});
  for (const auto& event : actor.events)
    events.push_back({{"time", unix_seconds(event.realtime_ns)},
                      {"machine", event.machine},
                      {"from", event.from},
                      {"to", event.to},
                      {"event", event.event},
                      {"text", event.text}});
  const bool is_idle = actor.handler.empty();
  return {{"name", actor.name},
          {"kind", actor.kind},
          {"owner", actor.owner},
          {"age", seconds(actor.age)},
          {"states", std::move(states)},
          {"activity", is_idle ? "idle" : "handler"},
          {"handler", is_idle ? json(nullptr) : json(actor.handler)},
          {"activity_age", seconds(actor.activity_age)},
          {"mailbox", actor.mailbox},
          {"mailbox_max", actor.mailbox_max},
          {"in_total", actor.in_total},
          {"out_total", actor.out_total},
          {"step", nullable(actor.step)},
          {"policy_version", nullable(actor.policy_version)},
          {"failures", actor.failures},
          {"last_error", actor.last_error},
          {"ended", actor.ended ? json(*actor.ended) : json(nullptr)},
          {"num_events", actor.num_events},
          {"events", std::move(events)}};
}

json process_json(const process_view& process) {
  return {{"name", process.name},
          {"kind", to_string(process.kind)},
          {"run", process.run_id},
          {"host", process.host},
          {"pid", process.pid},
          {"incarnation", process.incarnation},
          {"life", to_string(process.life)},
          {"started", unix_seconds(process.start_realtime_ns)},
          {"age", seconds(process.age)},
          {"state", process.state},
          {"end", process.end}};
}

json document(json missing) {
  return {{"as_of", unix_seconds(realtime_now_ns())},
          {"complete", missing.empty()},
          {"missing", std::move(missing)}};
}

json document_of(const std::vector<process_view>& processes) {
  json missing = json::array();
  for (const auto& process : processes) {
    if (process.unreadable)
      missing.push_back(
        {{"what", process.file.string()}, {"why", *process.unreadable}});
    if (process.cards_refused > 0)
      missing.push_back({{"what", process.name},
                         {"why", std::to_string(process.cards_refused)
                                   + " actors found no place"}});
  }
  auto result = document(std::move(missing));
  result["processes"] = json::array();
  return result;
}

json_view finish(const json& object, bool is_empty) {
  return {object.dump(2, ' ', false, json::error_handler_t::replace), is_empty};
}

json tree_of(const actor_view& actor, const process_view& process,
             std::set<const actor_view*>& seen) {
  auto object = actor_json(actor);
  object.erase("events");
  object["children"] = json::array();
  for (const auto& child : process.actors)
    if (child.owner == actor.name && seen.insert(&child).second)
      object["children"].push_back(tree_of(child, process, seen));
  return object;
}

} // namespace

json_view actors_json(const std::vector<process_view>& processes) {
  auto result = document_of(processes);
  for (const auto& process : processes) {
    if (process.unreadable)
      continue;
    auto object = process_json(process);
    object["actors"] = json::array();
    for (const auto& actor : process.actors)
      object["actors"].push_back(actor_json(actor));
    result["processes"].push_back(std::move(object));
  }
  return finish(result, processes.empty());
}

json_view tree_json(const std::vector<process_view>& processes) {
  auto result = document_of(processes);
  for (const auto& process : processes) {
    if (process.unreadable)
      continue;
    auto object = process_json(process);
    object["actors"] = json::array();
    std::set<std::string> here;
    for (const auto& actor : process.actors)
      here.insert(actor.name);
    std::set<const actor_view*> seen;
    for (const auto& actor : process.actors)
      if ((!here.contains(actor.owner) || actor.owner == actor.name)
          && seen.insert(&actor).second)
        object["actors"].push_back(tree_of(actor, process, seen));
    for (const auto& actor : process.actors) // those who own each other
      if (seen.insert(&actor).second)
        object["actors"].push_back(tree_of(actor, process, seen));
    result["processes"].push_back(std::move(object));
  }
  return finish(result, processes.empty());
}

json_view
processes_json(const std::vector<process_view>& processes,
               const std::map<std::string, journal::entry>& last_records) {
  auto result = document_of(processes);
  for (const auto& process : processes) {
    if (process.unreadable)
      continue;
    auto object = process_json(process);
    const auto last = last_records.find(process.name);
    object["last_record"] = last == last_records.end()
                              ? json(nullptr)
                              : json::parse(journal::to_line(last->second));
    result["processes"].push_back(std::move(object));
  }
  return finish(result, processes.empty());
}

json_view journal_json(const std::vector<journal::entry>& records,
                       const std::vector<std::string>& missing) {
  json list = json::array();
  for (const auto& item : missing)
    list.push_back({{"what", item}, {"why", "not a record"}});
  auto result = document(std::move(list));
  result["records"] = json::array();
  for (const auto& record : records)
    result["records"].push_back(json::parse(journal::to_line(record)));
  return finish(result, records.empty());
}

} // namespace troupe::runtime::inspect
