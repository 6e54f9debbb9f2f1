// SPDX-License-Identifier: Apache-2.0
//
// The cache owner beside a supervisor that is played: its ledger is a real one
// of 100 pages. What the owner holds and what it was granted are the same after
// every answer, also after a refusal.
#include "actors/cache_owner.hpp"

#include "actors/memory_ledger.hpp"
#include "tests/actors/rank_fixture.hpp"

#include "tests/support/doctest.hpp"

namespace {

using namespace troupe;
using namespace troupe::protocols;
using namespace troupe::actors;

constexpr std::uint64_t page = 4096;

class played_supervisor : public actor_base<rank_supervisor_actor> {
public:
  played_supervisor(caf::actor_config& config, process_context& process,
                    memory_ledger& ledger)
    : actor_base(config, process, {"supervisor", "supervisor", "test"}),
      ledger_(ledger) {}

  behavior_type make_behavior() override {
    started();
    return {on(&played_supervisor::none<placed, place>),
            on(&played_supervisor::none<gate_closed, close_gate>),
            on(&played_supervisor::none<fenced, run_to>),
            on(&played_supervisor::none<released, release>),
            on(&played_supervisor::none<stopped, stop>),
            on(&played_supervisor::on_reserve),
            on(&played_supervisor::on_give_up),
            on(&played_supervisor::none<rank_aborted, abort_rank>),
            on_continuation()};
  }

private:
  template <class Reply, class Request>
  caf::result<Reply> none(Request&) {
    return Reply{};
  }
  caf::result<granted> on_reserve(reserve& request) {
    return granted{ledger_.reserve(request.holder, request.purpose,
                                   request.bytes, request.replaces)};
  }
  caf::result<given_up> on_give_up(give_up& request) {
    return given_up{ledger_.give_up(request.grant_id)};
  }

  memory_ledger& ledger_;
};

struct fixture : tests::rank_fixture {
  fixture() {
    supervisor =
      system->spawn<played_supervisor>(std::ref(process), std::ref(ledger));
    cache = spawn_cache_owner(*system, rank, supervisor);
  }
  ~fixture() {
    end({caf::actor_cast<caf::actor>(cache),
         caf::actor_cast<caf::actor>(supervisor)});
  }

  /// The text of the refusal, "" for an answer.
  template <class Reply, class Request>
  std::string refusal_of(Request request, Reply* reply = nullptr) {
    const auto refusal = ask<Reply>(cache, std::move(request), reply);
    return refusal ? refusal->chain() : "";
  }

  std::string lease_pages(std::uint64_t count, leased* reply = nullptr) {
    return refusal_of<leased>(lease{process.make_header(), count * page},
                              reply);
  }
  void give_back_lease() {
    CHECK(refusal_of<gave_back>(give_back{process.make_header()}) == "");
  }
  [[nodiscard]] std::uint64_t pages_granted() {
    // Behind what the owner told the supervisor.
    ask<gate_closed>(supervisor, close_gate{process.make_header()});
    return ledger.held_bytes() / page;
  }

  memory_ledger ledger{100 * page};
  rank_supervisor_actor supervisor;
  cache_owner_actor cache;
};

} // namespace

TEST_SUITE_BEGIN("actors.cache_owner");

TEST_CASE_FIXTURE(fixture, "a lease is granted, kept and grown when idle") {
  leased first, again, grown;
  CHECK(lease_pages(10, &first) == "");
  CHECK(pages_granted() == 10);
  give_back_lease();

  CHECK(lease_pages(5, &again) == "");
  CHECK(again.address == first.address);
  CHECK(again.bytes == 10 * page);
  give_back_lease();

  CHECK(lease_pages(30, &grown) == "");
  CHECK(grown.generation == first.generation + 1);
  CHECK(pages_granted() == 30);
}

TEST_CASE_FIXTURE(fixture, "what the ledger refuses leaves lease and grant") {
  leased first, again;
  CHECK(lease_pages(60, &first) == "");
  give_back_lease();

  const auto refusal = lease_pages(101);
  CHECK(refusal.find("refuses to hold 413696 bytes; state held, 245760 bytes "
                     "held")
        != std::string::npos);
  CHECK(refusal.find("caused by memory_refused: cache_owner/dp=0/tp=0 asks for "
                     "413696 bytes")
        != std::string::npos);
  CHECK(pages_granted() == 60);

  CHECK(lease_pages(60, &again) == "");
  CHECK(again.address == first.address);
}

TEST_CASE_FIXTURE(fixture,
                  "no growth while a lease is out, nor a grant for it") {
  CHECK(lease_pages(10) == "");

  CHECK(lease_pages(20).find("leases out: 1") != std::string::npos);
  CHECK(pages_granted() == 10);
}

TEST_CASE_FIXTURE(fixture, "what is released is granted again when retaken") {
  CHECK(lease_pages(60) == "");
  give_back_lease();
  CHECK(refusal_of<cache_released>(release_cache{process.make_header()}) == "");
  CHECK(pages_granted() == 0);

  const auto other = ledger.reserve("trainer", "moments", 50 * page);
  CHECK(refusal_of<retaken>(retake{process.make_header()})
          .find("trainer holds 204800 bytes for moments")
        != std::string::npos);
  CHECK(pages_granted() == 50);

  ledger.give_up(other);
  retaken again;
  CHECK(refusal_of<retaken>(retake{process.make_header()}, &again) == "");
  CHECK(again.bytes == 60 * page);
  CHECK(pages_granted() == 60);
}

TEST_SUITE_END();
