// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/worker_pool.hpp"

#include "runtime/config/deadlines.hpp"
#include "runtime/process/keeper.hpp"
#include "runtime/process/python_worker_text.hpp"
#include "runtime/process/worker_connection.hpp"

#include <nlohmann/json.hpp>

#include <sys/eventfd.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>

namespace troupe::runtime::process {

namespace {

using protocols::errc;
using protocols::failure;
using json = nlohmann::json;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using outcome = worker_connection::outcome;

using ready_callback = std::function<void(std::optional<failure>)>;
using grade_callback = std::function<void(std::vector<grade_result>)>;

struct grade_call {
  grade_request request;
  milliseconds timeout{};
  grade_callback done;
};

struct served {
  std::vector<grade_result> results;
  bool is_usable = true; ///< the worker may go on
};

enum class worker_state : std::uint8_t { starting, ready, failed };

unique_fd make_script_file() {
  unique_fd file{::memfd_create("python_worker.py", MFD_CLOEXEC)};
  std::string_view text{python_worker_text};
  if (!file
      || ::write(file.get(), text.data(), text.size())
           != static_cast<ssize_t>(text.size()))
    throw failure{errc::io_failed, "cannot make a memory file for the worker"};
  return file;
}

std::vector<grade_result> all_failed(const grade_request& request, errc code,
                                     const std::string& text) {
  return {request.completions.size(), grade_result{std::nullopt, code, text}};
}

grade_result parse_result(const json& result) {
  if (auto reward = result.find("reward"); reward != result.end())
    return {reward->get<double>(), errc::none, {}};
  return {std::nullopt, errc::reward_failed,
          result.at("error").get<std::string>()};
}

} // namespace

struct worker_pool::impl {
  worker_pool_options options;
  worker_starter starter;
  unique_fd script = make_script_file();
  unique_fd stop_fd{::eventfd(0, EFD_CLOEXEC)};

  mutable std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;               // guarded
  std::deque<grade_call> calls;        // guarded
  std::vector<worker_state> states;    // guarded
  std::string start_failure;           // guarded; of the last one
  std::vector<ready_callback> waiting; // guarded; for every worker's start
  std::atomic<int> num_replacements = 0;
  std::vector<std::thread> threads;

  std::string name_of(std::size_t index) const {
    return options.name + "/" + std::to_string(index);
  }

  void set_state(std::size_t index, worker_state state) {
    {
      std::lock_guard guard{mutex};
      states[index] = state;
      changed.notify_all();
    }
    tell_ready();
  }

  std::ptrdiff_t count(worker_state state) const { // mutex is held
    return std::count(states.begin(), states.end(), state);
  }

  void tell_ready() {
    std::vector<ready_callback> told;
    std::optional<failure> why;
    {
      std::lock_guard guard{mutex};
      if (count(worker_state::failed) > 0)
        why.emplace(errc::reward_failed, start_failure);
      else if (count(worker_state::starting) > 0)
        return;
      told.swap(waiting);
    }
    for (const auto& done : told)
      done(why);
  }

  bool have_all_failed() const { // mutex is held
    return std::all_of(states.begin(), states.end(), [](worker_state s) {
      return s == worker_state::failed;
    });
  }

  /// One worker's life: start, grade, replace.
  void run(std::size_t index) {
    std::optional<worker_connection> connection;
    int replacements = 0;
    for (;;) {
      if (!connection && !start(index, connection))
        break;
      set_state(index, worker_state::ready);
      auto call = take_call([] { return true; });
      if (!call)
        break;
      auto [results, is_usable] = serve(index, *connection, *call);
      if (!is_usable)
        ++num_replacements;
      call->done(std::move(results));
      if (is_usable)
        continue;
      connection.reset();
      starter.kill(name_of(index));
      if (++replacements > options.max_replacements) {
        fail(index, "more than " + std::to_string(options.max_replacements)
                      + " workers had to be replaced");
        break;
      }
      set_state(index, worker_state::starting);
    }
    connection.reset();
    starter.kill(name_of(index));
    // When no worker is left, the calls still get their answer.
    while (auto call = take_call([this] { return have_all_failed(); }))
      call->done(
        all_failed(call->request, errc::reward_failed, last_start_failure()));
  }

  /// Returns the next call once `may_take`; nothing when the pool stops.
  template <class Predicate>
  std::optional<grade_call> take_call(Predicate may_take) {
    std::unique_lock lock{mutex};
    changed.wait(lock,
                 [&] { return stopping || (!calls.empty() && may_take()); });
    if (stopping)
      return std::nullopt;
    auto call = std::move(calls.front());
    calls.pop_front();
    return call;
  }

  std::string last_start_failure() const {
    std::lock_guard guard{mutex};
    return start_failure;
  }

  void fail(std::size_t index, const std::string& why) {
    {
      std::lock_guard guard{mutex};
      start_failure = "worker '" + name_of(index) + "': " + why;
      states[index] = worker_state::failed;
      changed.notify_all();
    }
    tell_ready();
  }

  /// False when the worker is given up, or the pool stops.
  bool start(std::size_t index, std::optional<worker_connection>& connection) {
    const auto until = clock::now() + options.start_deadline;
    for (int attempt = 1;; ++attempt) {
      std::string why;
      auto got = try_start(index, connection, until, why);
      if (got == outcome::done)
        return true;
      connection.reset();
      if (got == outcome::stopped)
        return false;
      starter.kill(name_of(index));
      // A function that cannot be imported will not be importable next time.
      if (got == outcome::closed || attempt >= options.max_failed_starts
          || clock::now() >= until) {
        fail(index, why);
        return false;
      }
    }
  }

  /// closed: the worker said why it cannot work; late: anything else.
  outcome try_start(std::size_t index,
                    std::optional<worker_connection>& connection,
                    clock::time_point until, std::string& why) {
    try {
      auto sockets = make_stream_pair();
      spawn_request request;
      request.name = name_of(index);
      request.kind = process_kind::worker;
      request.argv = options.keeper_argv;
      request.argv.push_back(std::to_string(options.deadline_scale));
      request.argv.push_back(options.python);
      request.argv.push_back("/dev/fd/" + std::to_string(worker_script_fd));
      request.argv.insert(request.argv.end(), options.functions.begin(),
                          options.functions.end());
      request.fds = {{sockets.theirs.get(), worker_frame_fd},
                     {script.get(), worker_script_fd}};
      starter.start(request);
      connection.emplace(std::move(sockets.ours), stop_fd.get());
    } catch (const failure& e) {
      why = e.what();
      return outcome::late;
    }
    std::string text;
    auto got = connection->receive(text, until);
    if (got == outcome::stopped)
      return got;
    if (got != outcome::done) {
      why = got == outcome::late
              ? "not ready within "
                  + std::to_string(options.start_deadline.count())
                  + " ms: its functions were still being imported; "
                    "limits.deadline_scale gives them longer"
              : "ended before it was ready; its log has the reason";
      return outcome::late;
    }
    auto message = json::parse(text, nullptr, false);
    if (message.is_object() && message.contains("ready"))
      return outcome::done;
    why = message.is_object() && message.contains("failed")
            ? message["failed"].get<std::string>()
            : "said something else than ready: " + text.substr(0, 200);
    return outcome::closed;
  }

  served serve(std::size_t index, worker_connection& connection,
               const grade_call& call) {
    const auto& request = call.request;
    json message{{"function", request.function},
                 {"completions", request.completions},
                 {"columns", request.columns}};
    auto deadline = clock::now() + call.timeout;
    std::string answer;
    auto got = connection.send(
      message.dump(-1, ' ', false, json::error_handler_t::replace), deadline);
    if (got == outcome::done)
      got = connection.receive(answer, deadline);
    auto lost = [&](errc code, const std::string& what) {
      return served{all_failed(request, code,
                               "reward function '" + request.function
                                 + "' in worker '" + name_of(index) + "' "
                                 + what),
                    false};
    };
    switch (got) {
    case outcome::late:
      return lost(errc::reward_timeout, "did not return within "
                                          + std::to_string(call.timeout.count())
                                          + " ms; the worker was killed");
    case outcome::closed:
      return lost(errc::reward_failed, "ended while it graded");
    case outcome::stopped:
      return lost(errc::shutting_down, "was stopped with the job");
    case outcome::done: break;
    }
    try {
      served out;
      auto parsed = json::parse(answer); // outlives the loop over its part
      for (const auto& result : parsed.at("results"))
        out.results.push_back(parse_result(result));
      if (out.results.size() == request.completions.size())
        return out;
      return lost(errc::reward_failed,
                  "gave " + std::to_string(out.results.size()) + " results");
    } catch (const json::exception& e) {
      return lost(errc::reward_failed,
                  std::string{"broke the protocol: "} + e.what());
    }
  }
};

worker_starter start_by_launcher(launcher_client& client,
                                 double deadline_scale) {
  return {[&client, deadline_scale](const spawn_request& request) {
            client.spawn_and_wait(
              request,
              config::duration_of(config::deadline::fork, deadline_scale));
          },
          [&client](const std::string& name) { client.kill(name, SIGTERM); }};
}

worker_pool::worker_pool(worker_pool_options options, worker_starter starter)
  : impl_(std::make_unique<impl>()) {
  impl_->options = std::move(options);
  impl_->starter = std::move(starter);
  auto count = static_cast<std::size_t>(impl_->options.num_workers);
  impl_->states.assign(count, worker_state::starting);
  for (std::size_t i = 0; i < count; ++i)
    impl_->threads.emplace_back([this, i] { impl_->run(i); });
}

worker_pool::~worker_pool() {
  std::deque<grade_call> left;
  {
    std::lock_guard guard{impl_->mutex};
    impl_->stopping = true;
    left.swap(impl_->calls);
    impl_->changed.notify_all();
  }
  std::uint64_t one = 1;
  [[maybe_unused]] auto n = ::write(impl_->stop_fd.get(), &one, sizeof(one));
  for (auto& thread : impl_->threads)
    thread.join();
  const failure stopped{errc::shutting_down,
                        "the reward pool was stopped with the job"};
  for (const auto& done : impl_->waiting)
    done(stopped);
  for (auto& call : left)
    call.done(all_failed(call.request, stopped.code(), stopped.what()));
}

void worker_pool::wait_until_ready(milliseconds deadline) {
  std::unique_lock lock{impl_->mutex};
  auto is = [this](worker_state s) { return impl_->count(s); };
  bool in_time = impl_->changed.wait_for(lock, deadline, [&] {
    return is(worker_state::starting) == 0 || is(worker_state::failed) > 0;
  });
  if (is(worker_state::failed) > 0)
    throw failure{errc::reward_failed, impl_->start_failure};
  if (!in_time)
    throw failure{errc::deadline_exceeded,
                  std::to_string(is(worker_state::starting))
                    + " reward workers were not ready within "
                    + std::to_string(deadline.count()) + " ms"};
}

void worker_pool::when_ready(std::function<void(std::optional<failure>)> done) {
  {
    std::lock_guard guard{impl_->mutex};
    impl_->waiting.push_back(std::move(done));
  }
  impl_->tell_ready();
}

void worker_pool::grade(grade_request request, milliseconds timeout,
                        std::function<void(std::vector<grade_result>)> done) {
  const auto& known = impl_->options.functions;
  if (std::find(known.begin(), known.end(), request.function) == known.end())
    throw failure{errc::invalid_request,
                  "no reward function '" + request.function + "' in this pool"};
  for (const auto& [name, column] : request.columns)
    if (column.size() != request.completions.size())
      throw failure{errc::invalid_request,
                    "column '" + name + "' has " + std::to_string(column.size())
                      + " entries for "
                      + std::to_string(request.completions.size())
                      + " completions"};
  std::lock_guard guard{impl_->mutex};
  impl_->calls.push_back({std::move(request), timeout, std::move(done)});
  impl_->changed.notify_all();
}

int worker_pool::num_replacements() const {
  return impl_->num_replacements;
}

} // namespace troupe::runtime::process
