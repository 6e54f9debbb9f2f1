// SPDX-License-Identifier: Apache-2.0
//
// A state machine as data. A machine type M provides
//   name                          what journals and inspectors call it
//   state, event, guard, effect   enums from 0, each ending in `count_`;
//                                 guard 0 is `always`, effect 0 is `none`
//   data                          small struct of bool and std::uint16_t
//   initial, is_terminal(state)
//   fields()    the members of data with the bound up to which checks go
//   guards()    each guard in C++ and in Promela, in the enum's order
//   updates()   the effects that change data, in C++ and in Promela
//   rows()      transitions, see `row`
//   refusals()  verdicts for the pairs that have no row
// and this header gives the runtime rule, from the same tables as the checks
// (machine_checks.hpp) and the drawings (machine_text.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace troupe::protocols {

enum class verdict : std::uint8_t { move, reject, defer, ignore, count_ };

/// An enum from 0 whose last enumerator is `count_`.
template <class E>
concept counted_enum = requires {
  E::count_;
};

template <counted_enum E>
inline constexpr auto num_enumerators = static_cast<std::size_t>(E::count_);

/// The compiler's own spelling, so that a name can't differ from its
/// enumerator: "... [with auto V = job_machine::running; ...]".
template <auto V>
constexpr std::string_view enumerator_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("V = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}

template <counted_enum E>
constexpr auto make_enumerator_names() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<std::string_view, sizeof...(I)>{
      enumerator_name<static_cast<E>(I)>()...};
  }
  (std::make_index_sequence<num_enumerators<E>>{});
}

template <counted_enum E>
inline constexpr auto enumerator_names = make_enumerator_names<E>();

/// Returns the enumerator's name, "unknown" for a number that is none.
template <counted_enum E>
constexpr std::string_view to_string(E value) {
  const auto i = static_cast<std::size_t>(value);
  return i < num_enumerators<E> ? enumerator_names<E>[i] : "unknown";
}

/// A member of M::data. `max` bounds the enumeration of the checks, not the
/// runtime: it is the smallest value past which no guard changes.
template <class M>
struct field {
  constexpr field(std::string_view n, bool M::data::*p) : name(n), flag(p) {}
  constexpr field(std::string_view n, std::uint16_t M::data::*p,
                  std::uint16_t m)
    : name(n), number(p), max(m) {}

  [[nodiscard]] constexpr std::uint16_t get(const typename M::data& d) const {
    return flag ? d.*flag : d.*number;
  }
  constexpr void set(typename M::data& d, std::uint16_t value) const {
    if (flag)
      d.*flag = value != 0;
    else
      d.*number = value;
  }

  std::string_view name; // the member's, and the variable's in Promela
  bool M::data::*flag = nullptr;
  std::uint16_t M::data::*number = nullptr;
  std::uint16_t max = 1;
};

template <class M>
struct guard_rule {
  typename M::guard guard;
  bool (*holds)(const typename M::data&);
  std::string_view promela;
};

template <class M>
struct update_rule {
  typename M::effect effect;
  void (*perform)(typename M::data&);
  std::string_view promela;
};

template <class M>
struct row {
  typename M::state from;
  typename M::event event;
  typename M::guard guard;
  typename M::state to;
  std::array<typename M::effect, 3> effects; // unused places hold effect::none
  std::string_view why;
};

template <class M>
struct refusal {
  typename M::state state;
  typename M::event event;
  verdict what; // reject, defer or ignore
  std::string_view why;
};

template <class M>
inline constexpr auto fields_of = M::fields();
template <class M>
inline constexpr auto guards_of = M::guards();
template <class M>
inline constexpr auto updates_of = M::updates();
template <class M>
inline constexpr auto rows_of = M::rows();
template <class M>
inline constexpr auto refusals_of = M::refusals();

/// What an event means in a state: a row to take, or a refusal with its reason.
template <class M>
struct outcome {
  verdict what = verdict::reject;
  const row<M>* taken = nullptr;        // set when what == move
  std::string_view why = "not decided"; // never, as machine_checks.hpp shows
};

template <class M>
constexpr bool holds(typename M::guard g, const typename M::data& d) {
  return guards_of<M>[static_cast<std::size_t>(g)].holds(d);
}

/// The runtime rule. Pure; machine_instance is what moves.
template <class M>
constexpr outcome<M> step(typename M::state s, const typename M::data& d,
                          typename M::event e) {
  for (const auto& r : rows_of<M>)
    if (r.from == s && r.event == e && holds<M>(r.guard, d))
      return {verdict::move, &r, r.why};
  for (const auto& r : refusals_of<M>)
    if (r.state == s && r.event == e)
      return {r.what, nullptr, r.why};
  return {};
}

/// Performs the row's updates of data, in order. Its other effects are
/// messages, and the caller's.
template <class M>
constexpr void update(const row<M>& taken, typename M::data& d) {
  for (auto x : taken.effects)
    for (const auto& rule : updates_of<M>)
      if (rule.effect == x)
        rule.perform(d);
}

} // namespace troupe::protocols
