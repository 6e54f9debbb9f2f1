// SPDX-License-Identifier: Apache-2.0
//
// A rank without its actors: folders, queues, transport to a host that the test
// plays, and a context of the tiny job. Tests spawn into it what they look at.
#pragma once

#include "actors/caf_config.hpp"
#include "actors/failure_message.hpp"
#include "actors/rank_context.hpp"
#include "runtime/config/read_job.hpp"
#include "tests/support/temporary_folder.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::tests {

constexpr std::chrono::seconds patience{20};

struct rank_fixture {
  rank_fixture() {
    process.process = "rank-0";
    process.run_directory = run.path();
    process.cards = runtime::inspect::card_file::create(
      run.path(), "rank-0", runtime::inspect::process_kind::rank, "run-7");
    process.journal = std::make_shared<runtime::journal::writer>(process.cards);
    system.emplace(config);
    self.emplace(*system);
  }

  /// Ends those that are there, in order, each awaited.
  void end(std::initializer_list<caf::actor> actors) {
    for (const auto& a : actors)
      if (a) {
        (*self)->send_exit(a, caf::exit_reason::user_shutdown);
        (*self)->wait_for(a);
      }
  }

  /// Asks as the loop would. Returns the refusal, or nothing.
  template <class Reply, class Target, class Request>
  std::optional<protocols::failure> ask(const Target& target, Request request,
                                        Reply* reply = nullptr) {
    std::optional<protocols::failure> refusal;
    (*self)
      ->request(target, patience, std::move(request),
                protocols::envelope{"loop", {}})
      .receive(
        [&](Reply& r, protocols::envelope&) {
          if (reply)
            *reply = std::move(r);
        },
        [&](caf::error& e) { refusal = actors::to_failure(e, "asked"); });
    return refusal;
  }

  temporary_folder run;
  actors::process_context process;
  kernels::thread_pool pool{1};
  runtime::process::work_queue compute{"compute", 64}, files{"files", 64};
  runtime::experience::group_store store{std::size_t{1} << 20};
  runtime::process::fd_pair sockets = runtime::process::make_stream_pair();
  runtime::transport::frame_endpoint host{std::move(sockets.theirs),
                                          {.peer = "rank", .run_id = "run-7"}};
  runtime::transport::frame_endpoint plane{std::move(sockets.ours),
                                           {.peer = "host", .run_id = "run-7"}};
  actors::rank_context rank{
    .process = process,
    .config = runtime::config::read_job(
      TROUPE_SOURCE_DIR "/tests/support/tiny.yaml",
      std::vector<std::string>{"run.directory=unused", "train.steps=1"}),
    .pool = pool,
    .compute = compute,
    .files = files,
    .data_plane = plane,
    .store = store};
  actors::caf_config config{"run-7", 1.0};
  std::optional<caf::actor_system> system;
  std::optional<caf::scoped_actor> self;
};

} // namespace troupe::tests
