// SPDX-License-Identifier: Apache-2.0
//
// The programs that the process tests run: launcher, coordinator, rank, keeper.
// What the coordinator does is named by the scenario.
#include "runtime/process/descendants.hpp"
#include "runtime/process/keeper.hpp"
#include "runtime/process/launcher.hpp"
#include "runtime/process/launcher_client.hpp"
#include "runtime/process/stop_signals.hpp"

#include "protocols/failure.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>

namespace {

using namespace troupe::runtime::process;
using namespace std::chrono_literals;

constexpr auto spawn_deadline = 10s;

std::string own_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

int run_as_launcher(const std::string& scenario, const std::string& directory) {
  launcher_options options;
  options.coordinator_argv = {own_path(), "coordinator", scenario, directory};
  options.describe = [](const std::filesystem::path& run_directory,
                        const std::string& process,
                        const std::string& what_happened) {
    return process + " " + what_happened + "; card in "
           + run_directory.filename().string();
  };
  options.record_end = [](const std::filesystem::path& run_directory,
                          const std::string& process, const std::string& end) {
    std::ofstream{run_directory / "ends", std::ios::app} << process << ": "
                                                         << end << '\n';
  };
  options.deadlines.after_loss = 1'000ms;
  options.deadlines.after_abort = 500ms;
  options.deadlines.after_report = 500ms;
  options.deadlines.grace = 500ms;
  return run_launcher(options);
}

/// A daemon: double fork, own session, deaf to SIGTERM.
void leave_daemon(int ready_fd) {
  if (::fork() != 0)
    return;
  ::setsid();
  if (::fork() != 0)
    ::_exit(0);
  ::signal(SIGTERM, SIG_IGN);
  [[maybe_unused]] auto n = ::write(ready_fd, "d", 1);
  ::close(ready_fd);
  for (;;)
    ::pause();
}

/// Tells on descriptor 3 when it, or its daemon, is up, then waits.
int run_as_member(bool with_daemon) {
  pass_on_stop_signals(); // nothing in a worker: its keeper is asked
  std::string fds;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"})
    fds += entry.path().filename().string() + " ";
  std::printf("rank with descriptors %s\n", fds.c_str());
  std::fflush(stdout);
  if (with_daemon)
    leave_daemon(3);
  else if (::write(3, "r", 1) != 1)
    return 51;
  ::close(3);
  for (;;)
    ::pause();
}

/// Starts a member and waits until it and its daemon are up.
pid_t start_member(launcher_client& client, const std::string& name,
                   process_kind kind) {
  auto pipe = make_stream_pair();
  spawn_request request;
  request.name = name;
  request.kind = kind;
  request.argv = {own_path(), "rank"};
  if (kind == process_kind::worker)
    request.argv = {own_path(), "keeper", "1", own_path(), "worker"};
  request.fds = {{pipe.theirs.get(), 3}};
  pid_t pid = client.spawn_and_wait(request, spawn_deadline);
  pipe.theirs.close();
  char byte = 0;
  if (::read(pipe.ours.get(), &byte, 1) != 1)
    std::exit(50);
  return pid;
}

int run_as_coordinator(const std::string& scenario,
                       const std::string& directory) {
  std::promise<process_exited> rank_end;
  std::promise<int> drained;
  pass_on_stop_signals();
  launcher_events events;
  events.on_exit = [&](const process_exited& e) {
    std::cout << "exited " << e.name << " " << to_string(e.status) << " "
              << e.requested << std::endl;
    if (e.name == "rank/0")
      rank_end.set_value(e);
  };
  events.on_signal = [&](int number, int count) {
    std::cout << "signal " << number << " " << count << std::endl;
    if (count == 1)
      drained.set_value(0);
  };
  launcher_client client{*launcher_client::from_environment(), events};
  client.configure(directory, 1.0);
  if (scenario == "bad_program") {
    try {
      client.spawn_and_wait(
        {"rank/9", process_kind::rank, {"/no/such"}, {}, {}}, spawn_deadline);
    } catch (const troupe::protocols::failure& e) {
      std::cout << e.what() << std::endl;
    }
    client.report(exit_refused, "refused by the fixture");
    return exit_refused;
  }
  if (scenario == "lingering") { // reports, and does not end
    client.report(exit_failed, "the loop failed");
    for (;;)
      ::pause();
  }
  pid_t rank = start_member(client, "rank/0", process_kind::rank);
  pid_t keeper = start_member(client, "worker/0", process_kind::worker);
  std::cout << "ready " << ::getpid() << " " << rank << " " << keeper
            << std::endl;
  if (scenario == "recovering") { // ends the job by itself after a loss
    auto end = rank_end.get_future().get();
    client.report(exit_failed, "coordinator says: " + end.name + " is lost");
    return exit_failed;
  }
  if (scenario == "deaf") { // neither drains nor ends
    for (;;)
      ::pause();
  }
  drained.get_future().wait();
  client.kill("rank/0", SIGTERM);
  rank_end.get_future().wait();
  client.report(exit_done, "");
  if (scenario == "teardown_fault")
    std::abort();
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto& role = words.at(0);
  if (role == "launcher")
    return run_as_launcher(words.at(1), words.at(2));
  if (role == "coordinator")
    return run_as_coordinator(words.at(1), words.at(2));
  if (role == "keeper")
    return run_keeper({words.begin() + 2, words.end()}, std::stod(words[1]));
  return run_as_member(role == "worker");
}
