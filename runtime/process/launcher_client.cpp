// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/launcher_client.hpp"

#include "runtime/config/deadlines.hpp"
#include "runtime/process/launcher_wire.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <thread>

namespace troupe::runtime::process {

namespace {

using protocols::errc;
using protocols::failure;
using json = nlohmann::json;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Fits into a packet however JSON escapes it.
constexpr std::size_t max_cause_bytes = 8192;

struct pending_spawn {
  std::string name;
  clock::time_point deadline;
  milliseconds allowed{};
  std::function<void(spawn_result)> done;
};

} // namespace

struct launcher_client::impl {
  unique_fd socket;
  unique_fd wake;
  launcher_events events;
  std::mutex mutex;
  std::deque<packet> queue;                     // guarded
  std::map<std::int64_t, pending_spawn> spawns; // guarded
  std::int64_t next_request = 1;                // guarded
  bool lost = false;                            // guarded
  std::atomic<bool> closing = false;
  std::atomic<double> deadline_scale = 1.0;
  std::thread thread;

  void notify() const {
    std::uint64_t one = 1;
    [[maybe_unused]] auto n = ::write(wake.get(), &one, sizeof(one));
  }

  void enqueue(const json& request, std::vector<unique_fd> fds = {}) {
    packet p{request.dump(-1, ' ', false, json::error_handler_t::replace),
             std::move(fds)};
    if (p.text.size() > max_packet_bytes || p.fds.size() > max_packet_fds)
      throw failure{
        errc::invalid_request,
        "a request to the launcher takes " + std::to_string(p.text.size())
          + " bytes and " + std::to_string(p.fds.size())
          + " descriptors; allowed are " + std::to_string(max_packet_bytes)
          + " and " + std::to_string(max_packet_fds)};
    std::lock_guard guard{mutex};
    queue.push_back(std::move(p));
    if (!send_queued())
      notify(); // the thread goes on with it
  }

  void run() {
    std::optional<clock::time_point> end;
    for (;;) {
      if (closing && !end)
        end = clock::now()
              + config::duration_of(config::deadline::flush, deadline_scale);
      bool has_output = false;
      {
        std::lock_guard guard{mutex};
        has_output = !send_queued();
      }
      if (end && (!has_output || clock::now() >= *end))
        return;
      pollfd fds[] = {
        {wake.get(), POLLIN, 0},
        {socket.get(),
         static_cast<short>(has_output ? POLLIN | POLLOUT : POLLIN), 0}};
      ::poll(fds, socket ? 2 : 1, poll_timeout(end));
      std::uint64_t count;
      [[maybe_unused]] auto n = ::read(wake.get(), &count, sizeof(count));
      receive_all();
      expire();
    }
  }

  /// True when nothing is left to send. The mutex is held.
  bool send_queued() {
    while (!queue.empty()) {
      if (socket) {
        auto status = send_packet(socket.get(), queue.front());
        if (status == packet_status::would_block)
          return false;
      }
      queue.pop_front();
    }
    return true;
  }

  int poll_timeout(std::optional<clock::time_point> end) {
    auto next = end;
    {
      std::lock_guard guard{mutex};
      for (const auto& [id, s] : spawns)
        next = next ? std::min(*next, s.deadline) : s.deadline;
    }
    if (!next)
      return -1;
    auto left = std::chrono::ceil<milliseconds>(*next - clock::now());
    return static_cast<int>(std::max<milliseconds::rep>(left.count(), 0));
  }

  void receive_all() {
    packet p;
    while (socket) {
      try {
        auto status = receive_packet(socket.get(), p);
        if (status == packet_status::would_block)
          return;
        if (status == packet_status::closed)
          return launcher_lost();
        handle(json::parse(p.text));
      } catch (const std::exception&) {
        // A packet that we do not understand carries nothing for us: both ends
        // come from one build.
        continue;
      }
    }
  }

  void launcher_lost() {
    {
      std::lock_guard guard{mutex};
      socket.close();
      lost = true;
    }
    fail_spawns([](const pending_spawn&) { return true; }, errc::peer_gone,
                "the launcher is gone");
    if (events.on_launcher_lost)
      events.on_launcher_lost();
  }

  void expire() {
    auto now = clock::now();
    fail_spawns([&](const pending_spawn& s) { return s.deadline <= now; },
                errc::deadline_exceeded, "no answer of the launcher");
  }

  template <class Predicate>
  void fail_spawns(Predicate concerns, errc code, const std::string& why) {
    std::vector<pending_spawn> failed;
    {
      std::lock_guard guard{mutex};
      std::erase_if(spawns, [&](auto& entry) {
        if (!concerns(entry.second))
          return false;
        failed.push_back(std::move(entry.second));
        return true;
      });
    }
    for (auto& s : failed)
      s.done(
        {0, failure{code, "cannot start process '" + s.name + "': " + why
                            + " (deadline " + std::to_string(s.allowed.count())
                            + " ms)"}});
  }

  void handle(const json& event) {
    const auto& type = event.at("type").get_ref<const std::string&>();
    if (type == "spawned") {
      answer(event, {event.at("pid").get<pid_t>(), std::nullopt});
    } else if (type == "spawn_failed") {
      answer(event, {0, failure{static_cast<errc>(event.at("code").get<int>()),
                                event.at("text").get<std::string>()}});
    } else if (type == "exited" && events.on_exit) {
      events.on_exit(
        {event.at("name").get<std::string>(),
         event.at("pid").get<pid_t>(),
         {event.at("code").get<int>(), event.at("signal").get<int>()},
         event.at("requested").get<bool>()});
    } else if (type == "signal" && events.on_signal) {
      events.on_signal(event.at("number").get<int>(),
                       event.at("count").get<int>());
    }
  }

  void answer(const json& event, spawn_result result) {
    std::function<void(spawn_result)> done;
    {
      std::lock_guard guard{mutex};
      auto found = spawns.find(event.at("request").get<std::int64_t>());
      if (found == spawns.end())
        return; // expired
      done = std::move(found->second.done);
      spawns.erase(found);
    }
    done(std::move(result));
  }
};

std::optional<unique_fd> launcher_client::from_environment() {
  const char* number = std::getenv(launcher_fd_variable);
  if (!number)
    return std::nullopt;
  unique_fd socket{std::atoi(number)};
  ::unsetenv(launcher_fd_variable);
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  return socket;
}

launcher_client::launcher_client(unique_fd socket, launcher_events events)
  : impl_(std::make_unique<impl>()) {
  impl_->socket = std::move(socket);
  impl_->wake = unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  impl_->events = std::move(events);
  impl_->thread = std::thread{[this] { impl_->run(); }};
}

launcher_client::~launcher_client() {
  impl_->closing = true;
  impl_->notify();
  impl_->thread.join();
  impl_->fail_spawns([](const pending_spawn&) { return true; },
                     errc::shutting_down, "the client was closed");
}

void launcher_client::configure(const std::filesystem::path& run_directory,
                                double deadline_scale) {
  impl_->deadline_scale = deadline_scale;
  impl_->enqueue({{"type", "configure"},
                  {"run_directory", run_directory.string()},
                  {"deadline_scale", deadline_scale}});
}

void launcher_client::spawn(const spawn_request& request, milliseconds deadline,
                            std::function<void(spawn_result)> done) {
  std::vector<unique_fd> fds;
  std::vector<int> targets;
  for (const auto& map : request.fds) {
    fds.push_back(duplicate(map.source));
    targets.push_back(map.target);
  }
  std::int64_t id = 0;
  {
    std::lock_guard guard{impl_->mutex};
    id = impl_->next_request++;
    // A lost launcher answers nothing: the deadline does, at once.
    auto end = impl_->lost ? clock::now() : clock::now() + deadline;
    impl_->spawns[id] = {request.name, end, deadline, std::move(done)};
  }
  try {
    impl_->enqueue({{"type", "spawn"},
                    {"request", id},
                    {"name", request.name},
                    {"kind", static_cast<int>(request.kind)},
                    {"argv", request.argv},
                    {"environment", request.environment},
                    {"targets", targets}},
                   std::move(fds));
  } catch (const failure& e) {
    impl_->answer({{"request", id}}, {0, e});
  }
}

pid_t launcher_client::spawn_and_wait(const spawn_request& request,
                                      milliseconds deadline) {
  std::promise<spawn_result> promise;
  spawn(request, deadline,
        [&](spawn_result r) { promise.set_value(std::move(r)); });
  auto result = promise.get_future().get();
  if (result.error)
    throw *result.error;
  return result.pid;
}

void launcher_client::kill(const std::string& name, int signal) {
  impl_->enqueue({{"type", "kill"}, {"name", name}, {"signal", signal}});
}

void launcher_client::report(int code, const std::string& cause) {
  impl_->enqueue({{"type", "report"},
                  {"code", code},
                  {"cause", cause.substr(0, max_cause_bytes)}});
}

} // namespace troupe::runtime::process
