// SPDX-License-Identifier: Apache-2.0
#include "protocols/machine_instance.hpp"

#include "protocols/actor_machine.hpp"
#include "protocols/cache_machine.hpp"
#include "protocols/rollout_machine.hpp"

#include <string>
#include <vector>

#include "tests/support/doctest.hpp"

namespace troupe::protocols {

namespace {

using cs = cache_machine::state;
using ce = cache_machine::event;
using rs = rollout_machine::state;
using re = rollout_machine::event;

/// Writes moves down, together with the state at that moment.
template <class M>
struct recorder {
  explicit recorder(std::string subject)
    : instance(std::move(subject), [this](const transition& t) {
        moves.push_back(std::string{t.machine} + ' ' + std::string{t.subject}
                        + ' ' + std::string{t.from} + "->" + std::string{t.to}
                        + ' ' + std::string{t.event});
        states_then.push_back(instance.state());
      }) {}

  std::vector<std::string> moves;
  std::vector<typename M::state> states_then;
  machine_instance<M> instance;
};

} // namespace

TEST_SUITE_BEGIN("protocols.machine_instance");

TEST_CASE("a move is told before the state is set") {
  recorder<rollout_machine> r{"rollout/dp=0"};

  const auto out = r.instance.apply(re::weights_changed);

  CHECK(out.what == verdict::move);
  CHECK(r.instance.state() == rs::ready);
  REQUIRE(r.moves.size() == 1);
  CHECK(r.moves[0]
        == "rollout rollout/dp=0 unpublished->ready weights_changed");
  CHECK(r.states_then[0] == rs::unpublished);
}

TEST_CASE("an observer that fails leaves state and data as they were") {
  machine_instance<cache_machine> cache{
    "cache/0",
    [](const transition&) { throw failure(errc::io_failed, "full"); }};
  cache.facts().is_granted = true;

  CHECK_THROWS_AS(cache.apply(ce::lease_requested), failure);
  CHECK(cache.state() == cs::unallocated);
  CHECK(cache.data().num_leases == 0);
}

TEST_CASE("effects that change data are performed, others are left") {
  machine_instance<cache_machine> cache{"cache/0"};
  cache.facts().is_granted = true;

  const auto out = cache.apply(ce::lease_requested);

  CHECK(cache.state() == cs::held);
  CHECK(cache.data().num_leases == 1);
  CHECK(out.taken->effects[0] == cache_machine::effect::map_pages);
}

TEST_CASE("a rejected event names machine, subject, state, event and reason") {
  recorder<cache_machine> r{"cache/0"};
  r.instance.apply(ce::close_requested);
  r.moves.clear();

  try {
    r.instance.apply(ce::lease_requested);
    FAIL("no failure");
  } catch (const failure& f) {
    CHECK(f.code() == errc::refused_by_state);
    CHECK(std::string{f.what()}
          == "cache 'cache/0' in state 'closed' refuses 'lease_requested': "
             "closed");
  }
  CHECK(r.instance.state() == cs::closed);
  CHECK(r.moves.empty());
}

TEST_CASE("this version's cache answers a park request with a refusal") {
  machine_instance<cache_machine> cache{"cache/0"};
  cache.facts().is_granted = true;
  cache.apply(ce::lease_requested);
  cache.apply(ce::lease_returned);

  const auto out = cache.apply(ce::park_requested);

  CHECK(out.taken->effects[0] == cache_machine::effect::answer_refused);
  CHECK(cache.state() == cs::held);
}

TEST_CASE("an ignored event changes nothing and is not told") {
  recorder<actor_machine> r{"trainer/0"};
  r.instance.apply(actor_machine::event::stop_requested);
  r.moves.clear();

  const auto out = r.instance.apply(actor_machine::event::stop_requested);

  CHECK(out.what == verdict::ignore);
  CHECK(r.moves.empty());
}

TEST_CASE("a deferred event waits until the state takes it") {
  recorder<actor_machine> r{"trainer/0"};
  using e = actor_machine::event;
  std::vector<e> done;
  const auto collect = [&](e event, const auto&) { done.push_back(event); };

  r.instance.apply(e::request_accepted);
  CHECK(r.instance.num_deferred() == 1);
  CHECK_FALSE(r.instance.apply_deferred(collect));
  r.instance.apply(e::started);

  CHECK(r.instance.apply_deferred(collect));
  CHECK_FALSE(r.instance.apply_deferred(collect));
  CHECK(done == std::vector{e::request_accepted});
  CHECK(r.instance.state() == actor_machine::state::busy);
}

TEST_CASE("a deferred event that is rejected later is removed and thrown") {
  machine_instance<actor_machine> actor{"trainer/0"};
  using e = actor_machine::event;
  actor.apply(e::request_accepted);
  actor.apply(e::drain_requested);

  CHECK_THROWS_AS(actor.apply_deferred([](e, const auto&) {}), failure);
  CHECK(actor.num_deferred() == 0);
}

TEST_CASE("deferred events are bounded") {
  machine_instance<actor_machine> actor{"trainer/0"};
  const auto max = machine_instance<actor_machine>::max_deferred;
  for (std::size_t i = 0; i < max; ++i)
    actor.apply(actor_machine::event::request_accepted);

  CHECK_THROWS_WITH_AS(
    actor.apply(actor_machine::event::request_accepted),
    "actor 'trainer/0' in state 'starting' refuses 'request_accepted': 16 "
    "events are deferred already, each until it has started",
    failure);
  CHECK(actor.num_deferred() == max);
}

TEST_SUITE_END();

} // namespace troupe::protocols
