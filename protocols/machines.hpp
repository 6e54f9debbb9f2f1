// SPDX-License-Identifier: Apache-2.0
//
// The machines by name, with their types erased: for reading journals, for
// inspectors and for drawings. What moves a machine is machine_instance.
#pragma once

#include "protocols/machine.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::protocols {

/// A row. All views are into the program's own text.
struct machine_edge {
  std::string_view from;
  std::string_view event;
  std::string_view guard; ///< "always" when there is none
  std::string_view to;
  std::vector<std::string_view> effects;
  std::string_view why;
};

struct machine_refusal {
  std::string_view state;
  std::string_view event;
  verdict what = verdict::reject;
  std::string_view why;
};

/// A name with what it means in Promela.
struct machine_formula {
  std::string_view name;
  std::string_view promela;
};

struct machine_description {
  std::string_view name;
  std::vector<std::string_view> states;
  std::vector<std::string_view> events;
  std::vector<machine_formula> fields; ///< with their values at the start
  std::vector<machine_formula> guards;
  std::vector<machine_formula> updates;
  std::vector<std::string_view> effects;
  std::string_view initial;
  std::vector<std::string_view> terminal; ///< may be empty
  std::vector<machine_edge> edges;
  std::vector<machine_refusal> refusals;
};

/// Returns all machines, in the order of DESIGN section 4.
std::span<const machine_description> machines();

/// Returns nullptr if no machine has this name.
const machine_description* find_machine(std::string_view name);

bool has_state(const machine_description& machine, std::string_view state);
bool has_event(const machine_description& machine, std::string_view event);
bool is_terminal(const machine_description& machine, std::string_view state);

/// True if the event may lead from one state to the other. Guards are taken as
/// open: a record does not hold the data.
bool is_edge(const machine_description& machine, std::string_view from,
             std::string_view event, std::string_view to);

/// Returns what is wrong with a recorded move, with what is allowed instead;
/// nothing if it is an edge.
std::optional<std::string> why_not_edge(const machine_description& machine,
                                        std::string_view from,
                                        std::string_view event,
                                        std::string_view to);

} // namespace troupe::protocols
