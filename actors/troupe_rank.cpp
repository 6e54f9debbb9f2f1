// SPDX-License-Identifier: Apache-2.0
//
// A rank's process: connects to the coordinator, runs the rank's actors until
// they are told to stop. See rank_main.hpp for its arguments.
#include "actors/actor_base.hpp"
#include "actors/caf_config.hpp"
#include "actors/failure_message.hpp"
#include "actors/rank_main.hpp"
#include "actors/rank_supervisor.hpp"
#include "runtime/config/read_job.hpp"
#include "runtime/experience/group_codec.hpp"
#include "runtime/outputs/run_directory.hpp"
#include "runtime/process/stop_signals.hpp"

#include <caf/function_view.hpp>
#include <caf/io/all.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <future>
#include <span>
#include <thread>

namespace troupe::actors {

namespace {

using protocols::coordinator_actor;
using protocols::errc;
using protocols::failure;
using runtime::config::deadline;

struct rank_arguments {
  std::filesystem::path run_directory;
  std::string process, host;
  std::uint16_t port = 0;
  std::string run_id, mode;
};

rank_arguments parse(std::span<char*> argv) {
  if (argv.size() != 6)
    throw failure(errc::invalid_request,
                  "troupe_rank is started by a job: `troupe run JOB.yaml`");
  const std::string address = argv[3];
  const auto colon = address.rfind(':');
  return {argv[1],
          argv[2],
          address.substr(0, colon),
          static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))),
          argv[4],
          argv[5]};
}

/// Between two tries to connect; no wait of its own.
constexpr std::chrono::milliseconds one_try{20};

/// A heartbeat that falls into a handshake ends it (OPERATIONS 0.6): connects
/// are retried until the deadline, which also bounds a try: a coordinator that
/// is frozen accepts, and says nothing.
coordinator_actor connect(caf::actor_system& system, const rank_arguments& a,
                          std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  std::string why;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      until - std::chrono::steady_clock::now());
    auto connecting =
      caf::make_function_view(system.middleman().actor_handle(),
                              caf::duration{std::max(left, one_try)});
    const auto got = connecting(caf::connect_atom::value, a.host, a.port);
    if (got && std::get<1>(*got))
      return caf::actor_cast<coordinator_actor>(std::get<1>(*got));
    why = got ? "nobody answers there" : system.render(got.error());
    std::this_thread::sleep_for(one_try);
  } while (std::chrono::steady_clock::now() < until);
  throw failure(errc::deadline_exceeded,
                a.process + ": no connection to the coordinator at " + a.host
                  + ":" + std::to_string(a.port) + " within "
                  + std::to_string(patience.count()) + " ms: " + why);
}

int num_threads(const runtime::config::job_config& job) {
  if (job.placement.threads_per_rank > 0)
    return static_cast<int>(job.placement.threads_per_rank);
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

int run(const rank_arguments& a) {
  runtime::process::pass_on_stop_signals();
  process_context process;
  process.process = a.process;
  process.run_directory = a.run_directory;
  process.cards = runtime::inspect::card_file::create(
    a.run_directory, a.process, runtime::inspect::process_kind::rank, a.run_id);
  warn_if_unseen(*process.cards);
  process.journal = std::make_shared<runtime::journal::writer>(process.cards);
  process.cards->set_process_state("joining");

  const auto job = runtime::config::read_job(
    a.run_directory / std::string{runtime::outputs::layout::resolved});
  process.deadline_scale = job.limits.deadline_scale;

  kernels::thread_pool pool{num_threads(job)};
  runtime::process::work_queue compute{"compute", 1024}, files{"files", 64};
  runtime::experience::group_store store{std::size_t{4} << 30};
  runtime::transport::frame_endpoint plane{
    runtime::process::unique_fd{rank_transport_fd},
    {.peer = "host agent", .run_id = a.run_id}};
  plane.serve(runtime::experience::service_group,
              [&store](std::span<const std::byte> bytes) {
                const auto key = runtime::experience::decode_key(bytes);
                return runtime::experience::encode_group(
                  *store.lease(key.id, key.epoch));
              });

  rank_context rank{.process = process,
                    .config = job,
                    .use = a.mode == "train"
                             ? runtime::train::model_use::train
                             : runtime::train::model_use::generate_only,
                    .pool = pool,
                    .compute = compute,
                    .files = files,
                    .data_plane = plane,
                    .store = store};
  std::promise<std::string> ended;
  {
    caf_config config{a.run_id, process.deadline_scale};
    caf::actor_system system{config};
    // Bounded: an actor that does not end must not hold the process.
    system.await_actors_before_shutdown(false);
    const auto coordinator =
      connect(system, a, process.patience(deadline::connect));
    spawn_rank_supervisor(
      system, rank, coordinator,
      [&ended](const std::string& why) { ended.set_value(why); });
    const auto why = ended.get_future().get();
    rank.control.store(1);
    const auto patience = process.patience(
      why == "aborted" ? deadline::terminate : deadline::control);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (system.registry().running() > 0
           && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    compute.close(patience);
    files.close(patience);
    process.cards->set_process_state("ended");
    process.journal->close(why);
    if (why == "aborted") {
      std::fflush(nullptr);
      std::_Exit(0); // in order, and no closure is awaited
    }
    if (why != "stopped") {
      std::fprintf(stderr, "troupe_rank: %s: %s\n", a.process.c_str(),
                   why.c_str());
      std::_Exit(1);
    }
  }
  return 0;
}

} // namespace

} // namespace troupe::actors

int main(int argc, char** argv) {
  ::signal(SIGXFSZ, SIG_IGN); // a full quota is an error of the write
  try {
    return troupe::actors::run(
      troupe::actors::parse({argv, static_cast<std::size_t>(argc)}));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "troupe_rank: %s\n",
                 troupe::actors::to_failure(e).what());
    return 1;
  }
}
