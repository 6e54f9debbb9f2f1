// SPDX-License-Identifier: Apache-2.0
#include "protocols/machine_text.hpp"

#include <algorithm>
#include <cctype>

namespace troupe::protocols {

namespace {

std::string joined(const std::vector<std::string_view>& words,
                   std::string_view between) {
  std::string out;
  for (auto word : words) {
    if (!out.empty())
      out += between;
    out += word;
  }
  return out;
}

std::string_view find(const std::vector<machine_formula>& formulas,
                      std::string_view name) {
  for (const auto& f : formulas)
    if (f.name == name)
      return f.promela;
  return {};
}

/// Replaces each field by the instance's variable.
std::string bound(const machine_description& machine,
                  std::string_view expression) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string out;
  for (std::size_t i = 0; i < expression.size();) {
    const auto begin = expression.begin() + static_cast<std::ptrdiff_t>(i);
    const std::string word{begin,
                           std::find_if_not(begin, expression.end(), in_word)};
    if (word.empty()) {
      out += expression[i++];
      continue;
    }
    const bool is_field =
      std::any_of(machine.fields.begin(), machine.fields.end(),
                  [&](const auto& f) { return f.name == word; });
    out += is_field ? std::string{machine.name} + '_' + word + "[who_]" : word;
    i += word.size();
  }
  return out;
}

std::string declarations(const machine_description& machine) {
  const std::string n{machine.name};
  std::string out = "#ifndef N_" + n + "\n#define N_" + n + " 1\n#endif\n";
  std::string separator = "mtype:" + n + "_states = { ";
  for (auto s : machine.states) {
    out += separator + n + "_in_" + std::string{s};
    separator = ", ";
  }
  out += " }\n";
  separator = "mtype:" + n + "_events = { ";
  for (auto e : machine.events) {
    out += separator + n + "_on_" + std::string{e};
    separator = ", ";
  }
  out += " }\nmtype:" + n + "_states " + n + "_state[N_" + n + "] = " + n
         + "_in_" + std::string{machine.initial} + ";\n";
  for (const auto& f : machine.fields)
    out += "byte " + n + '_' + std::string{f.name} + "[N_" + n
           + "] = " + std::string{f.promela} + ";\n";
  for (auto x : machine.effects) {
    if (x == "none" || !find(machine.updates, x).empty())
      continue;
    const auto macro = "do_" + n + '_' + std::string{x};
    out += "#ifndef " + macro + "\n#define " + macro + "(who_)\n#endif\n";
  }
  return out;
}

std::string condition(const std::string& n, std::string_view state,
                      std::string_view event) {
  return "  :: " + n + "_state[who_] == " + n + "_in_" + std::string{state}
         + " && what_ == " + n + "_on_" + std::string{event};
}

} // namespace

std::string mermaid(const machine_description& machine) {
  std::string out =
    "stateDiagram-v2\n  [*] --> " + std::string{machine.initial} + '\n';
  for (const auto& e : machine.edges) {
    out += "  " + std::string{e.from} + " --> " + std::string{e.to} + " : "
           + std::string{e.event};
    if (e.guard != "always")
      out += " [" + std::string{e.guard} + ']';
    out += '\n';
  }
  for (auto s : machine.terminal)
    out += "  " + std::string{s} + " --> [*]\n";
  return out;
}

std::string markdown_tables(const machine_description& machine) {
  std::string out = "| from | event | guard | to | effects | why |\n"
                    "| --- | --- | --- | --- | --- | --- |\n";
  for (const auto& e : machine.edges)
    out += "| " + joined({e.from, e.event, e.guard, e.to}, " | ") + " | "
           + joined(e.effects, ", ") + " | " + std::string{e.why} + " |\n";
  out += "\n| state | event | verdict | why |\n| --- | --- | --- | --- |\n";
  for (const auto& r : machine.refusals)
    out += "| " + joined({r.state, r.event, to_string(r.what), r.why}, " | ")
           + " |\n";
  return out;
}

std::string promela(const machine_description& machine) {
  const std::string n{machine.name};
  auto out = declarations(machine);
  out += "inline apply_" + n + "(who_, what_) {\n  if\n";
  for (const auto& e : machine.edges) {
    out += condition(n, e.from, e.event);
    if (e.guard != "always")
      out += " && (" + bound(machine, find(machine.guards, e.guard)) + ')';
    out += " ->\n     ";
    for (auto x : e.effects)
      if (const auto u = find(machine.updates, x); !u.empty())
        out += bound(machine, u) + "; ";
    out += n + "_state[who_] = " + n + "_in_" + std::string{e.to} + "; ";
    for (auto x : e.effects)
      if (find(machine.updates, x).empty())
        out += "do_" + n + '_' + std::string{x} + "(who_) ";
    out += "outcome_ = move_\n";
  }
  for (const auto& r : machine.refusals)
    out += condition(n, r.state, r.event)
           + " -> outcome_ = " + std::string{to_string(r.what)} + "_\n";
  return out + "  :: else -> assert(false)\n  fi\n}\n";
}

std::string promela_prelude() {
  return "mtype:outcomes = { move_, reject_, defer_, ignore_ }\n"
         "hidden mtype:outcomes outcome_;\n";
}

} // namespace troupe::protocols
