// SPDX-License-Identifier: Apache-2.0
//
// What must hold of every machine, as constexpr predicates over its tables.
// protocols/machines.cpp asserts them at compile time for all machines. They
// take the tables as arguments, so that tests can show that a broken table is
// noticed.
#pragma once

#include "protocols/machine.hpp"

#include <span>

namespace troupe::protocols {

template <counted_enum E, class F>
constexpr void each(F f) {
  for (std::size_t i = 0; i < num_enumerators<E>; ++i)
    f(static_cast<E>(i));
}

/// Calls f with every value of data within the bounds of fields().
template <class M, class F>
constexpr void each_data(F f) {
  std::array<std::uint16_t, fields_of<M>.size()> digits{};
  for (;;) {
    typename M::data d{};
    for (std::size_t i = 0; i < digits.size(); ++i)
      fields_of<M>[i].set(d, digits[i]);
    f(d);
    std::size_t place = 0;
    while (place < digits.size() && digits[place] == fields_of<M>[place].max)
      digits[place++] = 0;
    if (place == digits.size())
      return;
    ++digits[place];
  }
}

/// True if each guard has its rule at its own place, guard 0 always holds, and
/// no effect is updated twice.
template <class M>
constexpr bool is_well_formed() {
  bool ok =
    guards_of<M>.size()
      == num_enumerators<typename M::guard> && guards_of<M>[0].promela == "true"
    && to_string(static_cast<typename M::effect>(0)) == "none";
  for (std::size_t i = 0; i < guards_of<M>.size(); ++i)
    ok = ok && static_cast<std::size_t>(guards_of<M>[i].guard) == i;
  for (std::size_t i = 0; i < updates_of<M>.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      ok = ok && updates_of<M>[i].effect != updates_of<M>[j].effect;
  return ok;
}

/// True if each (state, event) is decided exactly once for each value of data:
/// either its rows' guards are disjoint and cover all, or one refusal stands
/// alone.
template <class M>
constexpr bool
is_complete(std::span<const row<M>> rows = rows_of<M>,
            std::span<const refusal<M>> refusals = refusals_of<M>) {
  bool ok = true;
  each<typename M::state>([&](auto s) {
    each<typename M::event>([&](auto e) {
      int num_rows = 0, num_refusals = 0;
      for (const auto& r : rows)
        num_rows += r.from == s && r.event == e;
      for (const auto& r : refusals)
        num_refusals += r.state == s && r.event == e && r.what != verdict::move;
      ok = ok && (num_rows > 0 ? num_refusals == 0 : num_refusals == 1);
      if (num_rows == 0)
        return;
      each_data<M>([&](const auto& d) {
        int num_holding = 0;
        for (const auto& r : rows)
          num_holding += r.from == s && r.event == e && holds<M>(r.guard, d);
        ok = ok && num_holding == 1;
      });
    });
  });
  return ok;
}

/// True if every state can be reached from the initial one, no row leaves a
/// terminal state, and from each state a terminal one (in a machine without
/// one: the initial one) can be reached. Guards are taken as open.
template <class M>
constexpr bool is_connected(std::span<const row<M>> rows = rows_of<M>) {
  constexpr auto n = num_enumerators<typename M::state>;
  std::array<std::array<bool, n>, n> reach{};
  std::array<bool, n> is_end{};
  bool any_terminal = false, ok = true;
  for (std::size_t i = 0; i < n; ++i) {
    reach[i][i] = true;
    is_end[i] = M::is_terminal(static_cast<typename M::state>(i));
    any_terminal = any_terminal || is_end[i];
  }
  const auto start = static_cast<std::size_t>(M::initial);
  if (!any_terminal)
    is_end[start] = true;
  for (const auto& r : rows) {
    reach[static_cast<std::size_t>(r.from)][static_cast<std::size_t>(r.to)] =
      true;
    ok = ok && (!M::is_terminal(r.from) || r.to == r.from);
  }
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j]);
  for (std::size_t i = 0; i < n; ++i) {
    bool ends = false;
    for (std::size_t j = 0; j < n; ++j)
      ends = ends || (is_end[j] && reach[i][j]);
    ok = ok && reach[start][i] && ends;
  }
  return ok;
}

/// True if no row's updates wrap a number below zero, for any data under which
/// the row can be taken.
template <class M>
constexpr bool is_bounded(std::span<const row<M>> rows = rows_of<M>) {
  bool ok = true;
  for (const auto& r : rows)
    each_data<M>([&](const auto& before) {
      if (!holds<M>(r.guard, before))
        return;
      auto after = before;
      update<M>(r, after);
      for (const auto& f : fields_of<M>)
        ok = ok && f.get(after) <= f.max + 1;
    });
  return ok;
}

} // namespace troupe::protocols
