// SPDX-License-Identifier: Apache-2.0
//
// A machine's tables as text: the drawing and the tables of
// docs/state_machines/, and the Promela that spin checks.
#pragma once

#include "protocols/machines.hpp"

namespace troupe::protocols {

/// Returns a Mermaid state diagram, one edge a line. Rows with the same ends
/// and event are one edge each, as their guards differ.
std::string mermaid(const machine_description& machine);

/// Returns two Markdown tables: the rows, and the pairs that have none.
std::string markdown_tables(const machine_description& machine);

/// Returns Promela with N_<machine> instances (1 unless defined before) of
///   <machine>_state[], one variable <machine>_<field>[] for each of data,
///   inline apply_<machine>(who_, what_), to be called in an atomic block,
/// where what_ is <machine>_on_<event> and the outcome is left in `outcome_`:
/// move_, reject_, defer_ or ignore_. An effect that updates nothing is the
/// macro do_<machine>_<effect>(who_), nothing unless defined before; one that
/// is defined ends with a semicolon. Each use of an inline repeats the whole
/// table, so a model has one place that applies events, with the event in a
/// variable.
std::string promela(const machine_description& machine);

/// Returns what has to stand once before all machines.
std::string promela_prelude();

} // namespace troupe::protocols
