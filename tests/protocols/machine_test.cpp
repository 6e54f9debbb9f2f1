// SPDX-License-Identifier: Apache-2.0
//
// What every machine has to keep, once for all of them.
#include "protocols/machine_checks.hpp"
#include "protocols/machine_list.hpp"
#include "tests/protocols/promela_expression.hpp"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/doctest.hpp"

namespace troupe::protocols {

namespace {

template <class M>
tests::promela_expression::values values_of(const typename M::data& d) {
  tests::promela_expression::values out;
  for (const auto& f : fields_of<M>)
    out[std::string{f.name}] = f.get(d);
  return out;
}

template <class M>
void check_matrix() {
  each<typename M::state>([](auto s) {
    each<typename M::event>([&](auto e) {
      each_data<M>([&](const auto& d) {
        const auto out = step<M>(s, d, e);

        CAPTURE(to_string(s));
        CAPTURE(to_string(e));
        CHECK(out.why != "not decided");
        CHECK_FALSE(out.why.empty());
        CHECK((out.what == verdict::move) == (out.taken != nullptr));
        if (M::is_terminal(s) && out.taken)
          CHECK(out.taken->to == s);
      });
    });
  });
}

template <class M>
void check_guards() {
  for (const auto& g : guards_of<M>)
    each_data<M>([&](const auto& d) {
      const auto values = values_of<M>(d);

      CAPTURE(g.promela);
      CHECK((tests::promela_expression{g.promela, values}.evaluate() != 0)
            == g.holds(d));
    });
}

/// An update is tried where a row performs it: elsewhere it may wrap.
template <class M>
void check_updates() {
  for (const auto& r : rows_of<M>)
    each_data<M>([&](const auto& before) {
      if (!holds<M>(r.guard, before))
        return;
      auto expected = values_of<M>(before);
      for (auto x : r.effects)
        for (const auto& u : updates_of<M>)
          if (u.effect == x) {
            const auto at = u.promela.find(" = ");
            REQUIRE(at != std::string_view::npos);
            const int value =
              tests::promela_expression{u.promela.substr(at + 3), expected}
                .evaluate();
            expected.at(std::string{u.promela.substr(0, at)}) = value;
          }

      auto after = before;
      update<M>(r, after);

      CAPTURE(to_string(r.event));
      CHECK(values_of<M>(after) == expected);
    });
}

template <class M>
void check_tables() {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>>
    seen;
  for (const auto& r : rows_of<M>) {
    CAPTURE(to_string(r.from));
    CAPTURE(to_string(r.event));
    CHECK(
      seen.emplace(to_string(r.from), to_string(r.event), to_string(r.guard))
        .second);
    CHECK_FALSE(r.why.empty());
    CHECK(r.effects[0] <= M::effect::count_);
    for (std::size_t i = 1; i < r.effects.size(); ++i)
      if (r.effects[i - 1] == M::effect::none)
        CHECK(r.effects[i] == M::effect::none);
  }
  std::set<std::string_view> used{"none"};
  for (const auto& r : rows_of<M>)
    for (auto x : r.effects)
      used.insert(to_string(x));
  CHECK(used.size() == num_enumerators<typename M::effect>);
  used = {"always"};
  for (const auto& r : rows_of<M>)
    used.insert(to_string(r.guard));
  CHECK(used.size() == num_enumerators<typename M::guard>);
}

} // namespace

TEST_SUITE_BEGIN("protocols.machine");

TEST_CASE("every state decides every event, whatever the data") {
  all_machines::each([]<class M>() { check_matrix<M>(); });
}

TEST_CASE("guards say the same in C++ and in Promela") {
  all_machines::each([]<class M>() { check_guards<M>(); });
}

TEST_CASE("updates say the same in C++ and in Promela") {
  all_machines::each([]<class M>() { check_updates<M>(); });
}

TEST_CASE("tables have no duplicates and no unused guards or effects") {
  all_machines::each([]<class M>() {
    CAPTURE(M::name);
    check_tables<M>();
  });
}

TEST_CASE("enumerators know their names") {
  CHECK(to_string(job_machine::state::submitted) == "submitted");
  CHECK(to_string(shutdown_machine::state::s9) == "s9");
  CHECK(to_string(cache_machine::guard::may_not_grow) == "may_not_grow");
  CHECK(to_string(static_cast<job_machine::state>(99)) == "unknown");
}

TEST_CASE("the evaluator of Promela can say no") {
  const tests::promela_expression::values names{{"a", 2}, {"b", 0}};

  CHECK(
    tests::promela_expression{"a > 1 && !(b != 0 || a == 3)", names}.evaluate()
    == 1);
  CHECK(tests::promela_expression{"a - 1", names}.evaluate() == 1);
  CHECK_THROWS(tests::promela_expression{"c", names}.evaluate());
  CHECK_THROWS(tests::promela_expression{"(a", names}.evaluate());
  CHECK_THROWS(tests::promela_expression{"a a", names}.evaluate());
}

TEST_CASE("a row or a refusal that is missing or doubled is noticed") {
  all_machines::each([]<class M>() {
    const std::vector<row<M>> rows(rows_of<M>.begin(), rows_of<M>.end());
    const std::vector<refusal<M>> refusals(refusals_of<M>.begin(),
                                           refusals_of<M>.end());
    REQUIRE(is_complete<M>(rows, refusals));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto fewer = rows;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      auto more = rows;
      more.push_back(rows[i]);

      CHECK_FALSE(is_complete<M>(fewer, refusals));
      CHECK_FALSE(is_complete<M>(more, refusals));
    }
    for (std::size_t i = 0; i < refusals.size(); ++i) {
      auto fewer = refusals;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      auto more = refusals;
      more.push_back(refusals[i]);

      CHECK_FALSE(is_complete<M>(rows, fewer));
      CHECK_FALSE(is_complete<M>(rows, more));
    }
  });
}

TEST_CASE("guards that overlap are noticed") {
  all_machines::each([]<class M>() {
    const std::vector<row<M>> rows(rows_of<M>.begin(), rows_of<M>.end());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].guard == M::guard::always)
        continue;
      auto wider = rows;
      wider[i].guard = M::guard::always;

      CHECK_FALSE(is_complete<M>(wider));
    }
  });
}

TEST_CASE("a state that is cut off, or left after the end, is noticed") {
  all_machines::each([]<class M>() {
    const std::vector<row<M>> rows(rows_of<M>.begin(), rows_of<M>.end());
    REQUIRE(is_connected<M>(rows));
    each<typename M::state>([&](auto s) {
      std::vector<row<M>> unreachable, endless;
      for (const auto& r : rows) {
        if (r.to != s || r.from == s)
          unreachable.push_back(r);
        if (r.from != s || r.to == s)
          endless.push_back(r);
      }

      if (s != M::initial)
        CHECK_FALSE(is_connected<M>(unreachable));
      if (!M::is_terminal(s))
        CHECK_FALSE(is_connected<M>(endless));
    });
    for (auto r : rows)
      if (M::is_terminal(r.to) && r.from != r.to) {
        auto resurrected = rows;
        resurrected.push_back(r);
        std::swap(resurrected.back().from, resurrected.back().to);

        CHECK_FALSE(is_connected<M>(resurrected));
      }
  });
}

TEST_CASE("an update that wraps below zero is noticed") {
  using m = cache_machine;
  std::vector<row<m>> rows(rows_of<m>.begin(), rows_of<m>.end());
  REQUIRE(is_bounded<m>(rows));
  for (auto& r : rows)
    if (r.effects[0] == m::effect::uncount_lease)
      r.guard = m::guard::always;

  CHECK_FALSE(is_bounded<m>(rows));
}

TEST_SUITE_END();

} // namespace troupe::protocols
