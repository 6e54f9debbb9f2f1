// SPDX-License-Identifier: Apache-2.0
//
// The cache owner beside a supervisor that is played: its ledger is a real one
// of 100 pages. What the owner holds and what it was granted are the same after
// every answer, also after a refusal.
#include "actors/cache_owner.hpp"

#include "actors/caf_config.hpp"
#include "actors/memory_ledger.hpp"
#include "runtime/config/read_job.hpp"
#include "tests/support/temporary_folder.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include "tests/support/doctest.hpp"

namespace {

using namespace troupe;
using namespace troupe::protocols;
using namespace troupe::actors;

constexpr std::chrono::seconds patience{20};
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

struct fixture {
  fixture() {
    process.process = "rank-0";
    process.run_directory = run.path();
    process.cards = runtime::inspect::card_file::create(
      run.path(), "rank-0", runtime::inspect::process_kind::rank, "run-7");
    process.journal = std::make_shared<runtime::journal::writer>(process.cards);
    system.emplace(config);
    self.emplace(*system);
    supervisor =
      system->spawn<played_supervisor>(std::ref(process), std::ref(ledger));
    cache = spawn_cache_owner(*system, rank, supervisor);
  }
  ~fixture() {
    for (const auto& a : {caf::actor_cast<caf::actor>(cache),
                          caf::actor_cast<caf::actor>(supervisor)}) {
      (*self)->send_exit(a, caf::exit_reason::user_shutdown);
      (*self)->wait_for(a);
    }
  }

  /// The text of the refusal, "" for an answer.
  template <class Reply, class Request>
  std::string ask(Request request, Reply* reply = nullptr) {
    std::string refusal;
    (*self)
      ->request(cache, patience, std::move(request), envelope{"rollout", {}})
      .receive(
        [&](Reply& r, envelope&) {
          if (reply)
            *reply = r;
        },
        [&](caf::error& e) { refusal = to_failure(e, "asked").chain(); });
    return refusal;
  }

  std::string lease_pages(std::uint64_t count, leased* reply = nullptr) {
    return ask<leased>(lease{process.make_header(), count * page}, reply);
  }
  void give_back_lease() {
    CHECK(ask<gave_back>(give_back{process.make_header()}) == "");
  }
  [[nodiscard]] std::uint64_t pages_granted() {
    // Behind what the owner told the supervisor.
    (*self)
      ->request(supervisor, patience, close_gate{process.make_header()},
                envelope{"test", {}})
      .receive([](gate_closed&, envelope&) {}, [](caf::error&) {});
    return ledger.held_bytes() / page;
  }

  tests::temporary_folder run;
  process_context process;
  memory_ledger ledger{100 * page};
  kernels::thread_pool pool{1};
  runtime::process::work_queue compute{"compute", 4}, files{"files", 4};
  runtime::experience::group_store store{std::size_t{1} << 20};
  runtime::process::fd_pair sockets = runtime::process::make_stream_pair();
  runtime::transport::frame_endpoint plane{std::move(sockets.ours),
                                           {.peer = "host", .run_id = "run-7"}};
  rank_context rank{
    .process = process,
    .config = runtime::config::read_job(
      TROUPE_SOURCE_DIR "/tests/support/tiny.yaml",
      std::vector<std::string>{"run.directory=unused", "train.steps=1"}),
    .pool = pool,
    .compute = compute,
    .files = files,
    .data_plane = plane,
    .store = store};
  caf_config config{"run-7", 1.0};
  std::optional<caf::actor_system> system;
  std::optional<caf::scoped_actor> self;
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
  CHECK(ask<cache_released>(release_cache{process.make_header()}) == "");
  CHECK(pages_granted() == 0);

  const auto other = ledger.reserve("trainer", "moments", 50 * page);
  CHECK(ask<retaken>(retake{process.make_header()})
          .find("trainer holds 204800 bytes for moments")
        != std::string::npos);
  CHECK(pages_granted() == 50);

  ledger.give_up(other);
  retaken again;
  CHECK(ask<retaken>(retake{process.make_header()}, &again) == "");
  CHECK(again.bytes == 60 * page);
  CHECK(pages_granted() == 60);
}

TEST_SUITE_END();
