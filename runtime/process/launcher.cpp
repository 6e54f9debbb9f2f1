// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/launcher.hpp"

#include "protocols/failure.hpp"
#include "runtime/printable.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/descendants.hpp"
#include "runtime/process/launcher_client.hpp"
#include "runtime/process/launcher_wire.hpp"
#include "runtime/process/stop_signals.hpp"

#include <nlohmann/json.hpp>

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace troupe::runtime::process {

namespace {

using protocols::failure;
using json = nlohmann::json;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int coordinator_fd = 3;

/// Events wait here while the coordinator does not read; one that leaves so
/// many is treated as lost.
constexpr std::size_t max_queued_events = 4096;

/// For all that is started here: whose signals end it.
std::string own_pid() {
  return std::string{launcher_pid_variable} + "=" + std::to_string(::getpid());
}

struct member {
  std::string name;
  process_kind kind = process_kind::rank;
  bool requested = false; ///< the coordinator asked for its end
};

enum class phase : std::uint8_t {
  running,
  terminating, ///< SIGTERM is out, SIGKILL follows at the deadline
  killing,
};

class launcher {
public:
  explicit launcher(const launcher_options& options) : options_(options) {}

  int run();

private:
  void watch_signals();
  void start_coordinator();
  milliseconds time_left() const;
  void wait_for_events();
  void print_report(const std::string& cause) const;
  // requests
  void read_requests();
  void handle(packet& p);
  void spawn(const json& request, std::vector<unique_fd>& fds);
  void kill_member(const json& request);
  void send(const json& event);
  void flush();
  // ends
  void read_signals();
  void count_signal(int number);
  void pass_on_drain(int number);
  void reap();
  void coordinator_ended(const exit_status& status);
  void rank_lost(const member& lost, const exit_status& status);
  void kill_orphans();
  void on_deadline();
  void terminate();
  void print(const std::string& text) const;
  std::string describe(const std::string& process,
                       const std::string& what_happened) const;
  void print_coordinators_end(const std::string& what_happened);
  milliseconds scaled(milliseconds time) const;
  void tighten(clock::time_point end, std::string why);

  const launcher_options& options_;
  unique_fd signals_;
  unique_fd socket_;
  std::map<pid_t, member> members_;
  pid_t coordinator_ = 0; ///< 0: ended
  std::filesystem::path run_directory_;
  double deadline_scale_ = 1.0;
  std::set<std::string> logged_; ///< names that have a log of this run
  std::deque<std::string> events_;
  phase phase_ = phase::running;
  std::optional<clock::time_point> deadline_;
  std::string deadline_cause_;
  int num_signals_ = 0;
  bool is_drain_out_ = false; ///< the first signal was told
  std::optional<int> reported_;
  std::string lost_, loss_; ///< a rank and its end, until it is told
  int exit_code_ = exit_failed;
};

void launcher::print(const std::string& text) const {
  std::fprintf(stderr, "troupe: %s\n", printable(text).c_str());
}

std::string launcher::describe(const std::string& process,
                               const std::string& what_happened) const {
  const auto plain = process + " " + what_happened;
  if (!options_.describe)
    return plain;
  try {
    return options_.describe(run_directory_, process, what_happened);
  } catch (const std::exception& e) {
    return plain + "; its last state cannot be read: " + e.what();
  }
}

/// The coordinator can't tell of a lost rank any more.
void launcher::print_coordinators_end(const std::string& what_happened) {
  if (!loss_.empty())
    print(loss_);
  loss_.clear();
  print(describe("coordinator", what_happened));
}

milliseconds launcher::scaled(milliseconds time) const {
  return milliseconds{static_cast<milliseconds::rep>(
    static_cast<double>(time.count()) * deadline_scale_)};
}

void launcher::tighten(clock::time_point end, std::string why) {
  if (phase_ != phase::running || (deadline_ && *deadline_ <= end))
    return;
  deadline_ = end;
  deadline_cause_ = std::move(why);
}

void launcher::watch_signals() {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    ::sigaddset(&watched, number);
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = unique_fd{::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC)};
  if (!signals_)
    throw failure{protocols::errc::io_failed, "cannot make a signalfd"};
}

void launcher::start_coordinator() {
  auto sockets = make_packet_pair();
  socket_ = std::move(sockets.ours);
  child_options child;
  child.name = "coordinator";
  child.argv = options_.coordinator_argv;
  child.environment = {std::string{launcher_fd_variable} + "="
                         + std::to_string(coordinator_fd),
                       own_pid()};
  child.fds = {{sockets.theirs.get(), coordinator_fd}};
  coordinator_ = start_child(child);
  members_[coordinator_] = {child.name, process_kind::rank, false};
}

int launcher::run() {
  watch_signals();
  become_subreaper();
  start_coordinator();
  while (!members_.empty() && phase_ != phase::killing) {
    wait_for_events();
    read_requests();
    read_signals();
    flush();
    if (deadline_ && clock::now() >= *deadline_)
      on_deadline();
  }
  if (!kill_descendants(scaled(options_.deadlines.reap)))
    print("some processes do not end, even by SIGKILL; left behind: "
          + std::to_string(list_descendants().size()));
  return exit_code_;
}

milliseconds launcher::time_left() const {
  if (!deadline_)
    return milliseconds{-1};
  auto left = std::chrono::ceil<milliseconds>(*deadline_ - clock::now());
  return std::max(left, milliseconds{0});
}

void launcher::wait_for_events() {
  short socket_events = events_.empty() ? POLLIN : POLLIN | POLLOUT;
  pollfd fds[] = {{signals_.get(), POLLIN, 0},
                  {socket_.get(), socket_events, 0}};
  ::poll(fds, socket_ ? 2 : 1, static_cast<int>(time_left().count()));
}

// -- requests -----------------------------------------------------------------

void launcher::read_requests() {
  packet p;
  while (socket_) {
    try {
      auto status = receive_packet(socket_.get(), p);
      if (status == packet_status::would_block)
        return;
      if (status == packet_status::closed)
        socket_.close(); // SIGCHLD says the rest
      else
        handle(p);
    } catch (const std::exception& e) {
      print(std::string{"bad request of the coordinator: "} + e.what());
    }
  }
}

void launcher::handle(packet& p) {
  auto request = json::parse(p.text);
  const auto& type = request.at("type").get_ref<const std::string&>();
  if (type == "configure") {
    run_directory_ = request.at("run_directory").get<std::string>();
    deadline_scale_ = request.at("deadline_scale").get<double>();
  } else if (type == "spawn") {
    spawn(request, p.fds);
  } else if (type == "kill") {
    kill_member(request);
  } else if (type == "report") {
    reported_ = request.at("code").get<int>();
    tighten(clock::now() + scaled(options_.deadlines.after_report),
            "did not end after its report");
    print_report(request.at("cause").get<std::string>());
  } else {
    throw std::invalid_argument{"unknown type '" + type + "'"};
  }
}

/// The cause of a bad end. A lost rank is part of it, or is told beside it.
void launcher::print_report(const std::string& cause) const {
  if (!loss_.empty() && *reported_ == exit_done)
    print("warning: completed, teardown fault: " + loss_);
  else if (!loss_.empty() && cause.find(lost_) == std::string::npos)
    print(loss_);
  if (*reported_ != exit_done && !cause.empty())
    print(cause);
}

void launcher::spawn(const json& request, std::vector<unique_fd>& fds) {
  child_options child;
  auto kind = static_cast<process_kind>(request.at("kind").get<int>());
  child.name = request.at("name").get<std::string>();
  try {
    if (phase_ != phase::running)
      throw failure{protocols::errc::shutting_down, "the tree is being ended"};
    if (run_directory_.empty())
      throw failure{protocols::errc::invalid_request,
                    "cannot start process '" + child.name
                      + "': the run directory was not told before"};
    for (const auto& [pid, other] : members_)
      if (other.name == child.name && !other.requested)
        throw failure{protocols::errc::invalid_request,
                      "cannot start process '" + child.name
                        + "': it runs already as pid " + std::to_string(pid)};
    child.argv = request.at("argv").get<std::vector<std::string>>();
    child.environment =
      request.at("environment").get<std::vector<std::string>>();
    child.environment.push_back(own_pid());
    auto targets = request.at("targets").get<std::vector<int>>();
    for (std::size_t i = 0; i < std::min(targets.size(), fds.size()); ++i)
      child.fds.push_back({fds[i].get(), targets[i]});
    auto file = child.name;
    std::replace(file.begin(), file.end(), '/', '-');
    child.log_file = run_directory_ / "logs" / (file + ".log");
    if (logged_.insert(file).second)
      std::filesystem::remove(child.log_file); // of an earlier run
    if (kind == process_kind::worker)
      child.parent_death_signal = SIGTERM; // its keeper then ends the worker
    pid_t pid = start_child(child);
    members_[pid] = {child.name, kind, false};
    send(
      {{"type", "spawned"}, {"request", request.at("request")}, {"pid", pid}});
  } catch (const std::exception& e) {
    const auto* typed = dynamic_cast<const failure*>(&e);
    auto code = typed ? typed->code() : protocols::errc::io_failed;
    send({{"type", "spawn_failed"},
          {"request", request.at("request")},
          {"code", static_cast<int>(code)},
          {"text", e.what()}});
  }
}

void launcher::kill_member(const json& request) {
  const auto& name = request.at("name").get_ref<const std::string&>();
  for (auto& [pid, m] : members_) {
    if (m.name != name || pid == coordinator_)
      continue;
    m.requested = true;
    ::kill(-pid, request.at("signal").get<int>());
  }
}

void launcher::send(const json& event) {
  if (!socket_)
    return;
  events_.push_back(event.dump(-1, ' ', false, json::error_handler_t::replace));
  if (events_.size() > max_queued_events)
    tighten(clock::now(), "does not read its events");
}

void launcher::flush() {
  while (socket_ && !events_.empty()) {
    packet p;
    p.text = events_.front();
    auto status = send_packet(socket_.get(), p);
    if (status == packet_status::would_block)
      return;
    events_.pop_front();
  }
}

// -- ends ---------------------------------------------------------------------

void launcher::read_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD)
      reap();
    else if (members_.contains(static_cast<pid_t>(info.ssi_pid)))
      pass_on_drain(static_cast<int>(info.ssi_signo));
    else
      count_signal(static_cast<int>(info.ssi_signo));
  }
}

void launcher::count_signal(int number) {
  ++num_signals_;
  if (num_signals_ == 1)
    pass_on_drain(number);
  else
    send({{"type", "signal"}, {"number", number}, {"count", num_signals_}});
  if (num_signals_ == 2) {
    exit_code_ = exit_aborted;
    tighten(clock::now() + scaled(options_.deadlines.after_abort),
            "did not abort the job within "
              + std::to_string(scaled(options_.deadlines.after_abort).count())
              + " ms");
  } else if (num_signals_ > 2) {
    exit_code_ = exit_forced;
    phase_ = phase::killing;
  }
}

/// A member that was sent the signal passes it on. Where every process got it,
/// that is one order, whoever is heard first.
void launcher::pass_on_drain(int number) {
  if (!std::exchange(is_drain_out_, true))
    send({{"type", "signal"}, {"number", number}, {"count", 1}});
}

void launcher::reap() {
  int wait_status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    auto found = members_.find(pid);
    if (found == members_.end())
      continue; // an orphan
    auto ended = std::move(found->second);
    members_.erase(found);
    auto status = decode_wait_status(wait_status);
    if (!status.is_clean() && options_.record_end && !run_directory_.empty())
      options_.record_end(run_directory_, ended.name, to_string(status));
    if (pid == coordinator_) {
      coordinator_ended(status);
      continue;
    }
    send({{"type", "exited"},
          {"name", ended.name},
          {"pid", pid},
          {"code", status.code},
          {"signal", status.signal},
          {"requested", ended.requested}});
    if (ended.kind == process_kind::rank && !ended.requested
        && !status.is_clean())
      rank_lost(ended, status);
  }
  kill_orphans();
}

void launcher::coordinator_ended(const exit_status& status) {
  read_requests(); // the report may still be in the socket
  coordinator_ = 0;
  socket_.close();
  if (num_signals_ < 2)
    exit_code_ = reported_.value_or(exit_failed);
  if (!reported_)
    print_coordinators_end(how_it_ended(status) + " before it could report");
  else if (*reported_ == exit_done && !status.is_clean())
    print("warning: completed, teardown fault: the coordinator ended with "
          + to_string(status));
  if (phase_ == phase::running)
    terminate();
}

void launcher::rank_lost(const member& lost, const exit_status& status) {
  if (reported_ || phase_ != phase::running || num_signals_ > 1)
    return;
  lost_ = lost.name;
  loss_ = describe(lost.name, how_it_ended(status));
  tighten(clock::now() + scaled(options_.deadlines.after_loss),
          "did not end the job after the loss of " + lost.name);
}

/// Orphans have lost their keeper, or have left their parent: nobody answers
/// for them.
void launcher::kill_orphans() {
  for (pid_t pid : list_children())
    if (!members_.contains(pid))
      ::kill(pid, SIGKILL);
}

void launcher::terminate() {
  phase_ = phase::terminating;
  deadline_ = clock::now() + scaled(options_.deadlines.grace);
  for (const auto& [pid, m] : members_)
    ::kill(-pid, SIGTERM);
}

void launcher::on_deadline() {
  if (phase_ == phase::running) {
    print_coordinators_end(deadline_cause_);
    terminate();
  } else {
    phase_ = phase::killing;
  }
}

} // namespace

int run_launcher(const launcher_options& options) {
  return launcher{options}.run();
}

} // namespace troupe::runtime::process
