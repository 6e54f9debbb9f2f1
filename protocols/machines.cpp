// SPDX-License-Identifier: Apache-2.0
#include "protocols/machines.hpp"

#include "protocols/machine_checks.hpp"
#include "protocols/machine_list.hpp"

#include <algorithm>

namespace troupe::protocols {

namespace {

template <counted_enum E>
std::vector<std::string_view> names() {
  return {enumerator_names<E>.begin(), enumerator_names<E>.end()};
}

template <class M>
machine_description describe() {
  static_assert(is_well_formed<M>(), "a guard or an update is misplaced");
  static_assert(is_complete<M>(), "a (state, event) pair is not decided once");
  static_assert(is_connected<M>(), "a state is cut off");
  static_assert(is_bounded<M>(), "an update wraps below zero");
  machine_description out;
  out.name = M::name;
  out.states = names<typename M::state>();
  out.events = names<typename M::event>();
  out.effects = names<typename M::effect>();
  constexpr std::array<std::string_view, 4> digits{"0", "1", "2", "3"};
  // Evaluated by the compiler: GCC 12 takes reading a constant through a
  // pointer to member for uninitialised.
  constexpr auto starts = [] {
    std::array<std::size_t, fields_of<M>.size()> values{};
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = fields_of<M>[i].get(typename M::data{});
    return values;
  }();
  for (std::size_t i = 0; i < starts.size(); ++i)
    out.fields.push_back({fields_of<M>[i].name, digits.at(starts[i])});
  for (const auto& g : guards_of<M>)
    out.guards.push_back({to_string(g.guard), g.promela});
  for (const auto& u : updates_of<M>)
    out.updates.push_back({to_string(u.effect), u.promela});
  out.initial = to_string(M::initial);
  each<typename M::state>([&](auto s) {
    if (M::is_terminal(s))
      out.terminal.push_back(to_string(s));
  });
  for (const auto& r : rows_of<M>) {
    machine_edge edge{to_string(r.from),
                      to_string(r.event),
                      to_string(r.guard),
                      to_string(r.to),
                      {},
                      r.why};
    for (auto x : r.effects)
      if (x != M::effect::none)
        edge.effects.push_back(to_string(x));
    out.edges.push_back(std::move(edge));
  }
  for (const auto& r : refusals_of<M>)
    out.refusals.push_back(
      {to_string(r.state), to_string(r.event), r.what, r.why});
  return out;
}

bool contains(const std::vector<std::string_view>& names,
              std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string quoted(std::string_view text) {
  return '\'' + std::string{text} + '\'';
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string out;
  for (auto name : names)
    out += (out.empty() ? "" : ", ") + std::string{name};
  return out;
}

} // namespace

std::span<const machine_description> machines() {
  static const auto all = [] {
    std::vector<machine_description> out;
    all_machines::each([&out]<class M>() { out.push_back(describe<M>()); });
    return out;
  }();
  return all;
}

const machine_description* find_machine(std::string_view name) {
  for (const auto& m : machines())
    if (m.name == name)
      return &m;
  return nullptr;
}

bool has_state(const machine_description& machine, std::string_view state) {
  return contains(machine.states, state);
}

bool has_event(const machine_description& machine, std::string_view event) {
  return contains(machine.events, event);
}

bool is_terminal(const machine_description& machine, std::string_view state) {
  return contains(machine.terminal, state);
}

bool is_edge(const machine_description& machine, std::string_view from,
             std::string_view event, std::string_view to) {
  return std::any_of(machine.edges.begin(), machine.edges.end(),
                     [&](const machine_edge& e) {
                       return e.from == from && e.event == event && e.to == to;
                     });
}

std::optional<std::string> why_not_edge(const machine_description& machine,
                                        std::string_view from,
                                        std::string_view event,
                                        std::string_view to) {
  if (is_edge(machine, from, event, to))
    return std::nullopt;
  const std::string thing = "machine " + quoted(machine.name);
  for (auto state : {from, to})
    if (!has_state(machine, state))
      return thing + " has no state " + quoted(state)
             + "; it has: " + listed(machine.states);
  if (!has_event(machine, event))
    return thing + " has no event " + quoted(event)
           + "; it has: " + listed(machine.events);
  std::vector<std::string_view> allowed;
  for (const auto& e : machine.edges)
    if (e.from == from && e.event == event && !contains(allowed, e.to))
      allowed.push_back(e.to);
  auto out = thing + ": " + quoted(event) + " does not lead from "
             + quoted(from) + " to " + quoted(to);
  if (!allowed.empty())
    return out + "; it may lead to: " + listed(allowed);
  for (const auto& r : machine.refusals)
    if (r.state == from && r.event == event)
      out += "; it is decided as " + std::string{to_string(r.what)} + ": "
             + std::string{r.why};
  return out;
}

} // namespace troupe::protocols
