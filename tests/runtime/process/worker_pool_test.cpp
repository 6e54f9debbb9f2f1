// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/worker_pool.hpp"

#include "tests/support/subprocess.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <mutex>

#include "tests/support/doctest.hpp"

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::runtime::process;
using protocols::errc;

namespace {

constexpr const char* functions_text = R"(
import os, sys, time

def length(completions, answers, **_):
    print("printed by the function")
    os.write(1, b"\x00\xff\xff\xff raw")
    return [len(c) + 0.125 * len(a) for c, a in zip(completions, answers)]

def odd_values(completions, **_):
    return [1.5, float("nan"), None, "text", True]

def too_few(completions, **_):
    return [1.0]

def raises(completions, **_):
    raise ValueError("what the user did")

def returns_dict(completions, **_):
    return {c: 1 for c in completions}

def returns_none(completions, **_):
    pass

def returns_huge(completions, **_):
    return [1e300] * len(completions)

def raises_odd_text(completions, **_):
    raise ValueError("\udcff" + 100000 * "x")

def leaves(completions, **_):
    sys.exit(3)

def dies(completions, **_):
    os._exit(9)

def hangs(completions, **_):
    while True:
        pass

def reward_or_hang(completions, **_):
    if completions[0] == "hang":
        hangs(completions)
    return [7.0] * len(completions)

def starts_daemon(completions, **_):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writer, b"%d" % os.getpid())
            while True:
                time.sleep(100)
        os._exit(0)
    os.wait()
    return [float(os.read(reader, 20))]
)";

/// Keepers as children of the pool's own threads.
struct direct_starter {
  std::mutex mutex;
  std::map<std::string, pid_t> pids;

  worker_starter get(const std::string& mark) {
    return {[this, mark](const spawn_request& request) {
              child_options child;
              child.name = request.name;
              child.argv = request.argv;
              child.environment = {mark};
              child.fds = request.fds;
              child.log_file = "/dev/null";
              child.parent_death_signal = SIGTERM;
              pid_t pid = start_child(child);
              std::lock_guard guard{mutex};
              pids[request.name] = pid;
            },
            [this](const std::string& name) {
              std::lock_guard guard{mutex};
              auto found = pids.find(name);
              if (found == pids.end())
                return;
              ::kill(found->second, SIGTERM);
              ::waitpid(found->second, nullptr, 0);
              pids.erase(found);
            }};
  }
};

struct pool_fixture {
  tests::temporary_directory directory;
  std::string file = (directory.path() / "rewards.py").string();
  std::string mark = "TROUPE_TEST_MARK=pool" + file;
  direct_starter direct;
  std::optional<worker_pool> pool;

  explicit pool_fixture(std::vector<std::string> names, int num_workers = 1) {
    std::ofstream{file} << functions_text;
    worker_pool_options options;
    options.num_workers = num_workers;
    options.keeper_argv = {PROCESS_FIXTURE, "keeper"};
    for (const auto& name : names)
      options.functions.push_back(file + ":" + name);
    pool.emplace(options, direct.get(mark));
  }

  ~pool_fixture() {
    pool.reset();
    CHECK(tests::find_marked(mark).empty());
  }

  std::future<std::vector<grade_result>>
  start(const std::string& function, std::vector<std::string> completions,
        std::chrono::milliseconds timeout = 20s) {
    grade_request request;
    request.function = file + ":" + function;
    request.columns["answers"].assign(completions.size(), "ab");
    request.completions = std::move(completions);
    auto promise = std::make_shared<std::promise<std::vector<grade_result>>>();
    pool->grade(request, timeout, [promise](std::vector<grade_result> r) {
      promise->set_value(std::move(r));
    });
    return promise->get_future();
  }

  std::vector<grade_result> grade(const std::string& function,
                                  std::vector<std::string> completions,
                                  std::chrono::milliseconds timeout = 20s) {
    auto result = start(function, std::move(completions), timeout);
    REQUIRE(result.wait_for(40s) == std::future_status::ready);
    return result.get();
  }
};

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  auto found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

} // namespace

TEST_SUITE("runtime.process.worker_pool") {

  TEST_CASE("completions and columns go in, numbers come out, prints do not") {
    pool_fixture f{{"length"}};
    std::string invalid_utf8 = "caf\xc3";

    auto results = f.grade("length", {"", "four", invalid_utf8});

    REQUIRE(results.size() == 3);
    CHECK(results[0].reward == 0.25);
    CHECK(results[1].reward == 4.25);
    CHECK(results[2].reward == 4.25); // U+FFFD stands for the torn letter
  }

  TEST_CASE("a value that is no finite number costs its sample only") {
    pool_fixture f{{"odd_values"}};

    auto results = f.grade("odd_values", {"a", "b", "c", "d", "e"});

    REQUIRE(results.size() == 5);
    CHECK(results[0].reward == 1.5);
    CHECK(results[1].error == "not a finite number of 32 bits: nan");
    CHECK(results[2].error == "not a number: None");
    CHECK(results[3].error == "not a number: 'text'");
    CHECK(results[4].reward == 1.0);
    for (std::size_t i : {1u, 2u, 3u})
      CHECK(results[i].code == errc::reward_failed);
  }

  TEST_CASE(
    "a function that raises or miscounts is named and its worker goes on") {
    pool_fixture f{{"too_few", "raises", "leaves", "length"}};

    CHECK(f.grade("too_few", {"a", "b"})[1].error
          == "1 rewards for 2 completions");
    auto raised = f.grade("raises", {"a"})[0];
    CHECK(raised.code == errc::reward_failed);
    CHECK(contains(raised.error, "in raises"));
    CHECK(contains(raised.error, "ValueError: what the user did"));
    CHECK(contains(f.grade("leaves", {"a"})[0].error, "SystemExit: 3"));
    CHECK(f.grade("length", {"a"})[0].reward == 1.25);
    CHECK(f.pool->num_replacements() == 0);
  }

  TEST_CASE("a function that never returns costs its own call only") {
    pool_fixture f{{"reward_or_hang"}, 2};
    f.pool->wait_until_ready(30s);

    auto hung = f.start("reward_or_hang", {"hang", "b"}, 300ms);
    auto fine = f.start("reward_or_hang", {"a"});

    REQUIRE(fine.wait_for(20s) == std::future_status::ready);
    CHECK(fine.get()[0].reward == 7.0);
    auto late = hung.get();
    REQUIRE(late.size() == 2);
    CHECK(late[1].code == errc::reward_timeout);
    CHECK(contains(late[1].error, ":reward_or_hang' in worker 'worker/"));
    CHECK(contains(late[1].error, "did not return within 300 ms"));
    CHECK(f.grade("reward_or_hang", {"a"})[0].reward == 7.0);
    CHECK(f.grade("reward_or_hang", {"a"})[0].reward == 7.0);
    CHECK(f.pool->num_replacements() == 1);
  }

  TEST_CASE("a worker that dies costs its own call only") {
    pool_fixture f{{"dies", "length"}};

    auto dead = f.grade("dies", {"a"})[0];

    CHECK(dead.code == errc::reward_failed);
    CHECK(contains(dead.error, "ended while it graded"));
    CHECK(f.grade("length", {"a"})[0].reward == 1.25);
    CHECK(f.pool->num_replacements() == 1);
  }

  TEST_CASE("a function's daemon does not survive its worker") {
    pool_fixture f{{"starts_daemon", "dies"}};
    auto daemon =
      static_cast<pid_t>(*f.grade("starts_daemon", {"a"})[0].reward);
    REQUIRE(::kill(daemon, 0) == 0);

    SUBCASE("that dies") {
      f.grade("dies", {"a"});
      CHECK(tests::await_end(daemon, 5s));
    }
    SUBCASE("that is stopped with the pool") {
      f.pool.reset();
      CHECK(tests::await_end(daemon, 0s));
    }
  }

  TEST_CASE(
    "functions that cannot be imported are found before the first call") {
    pool_fixture f{{"absent"}};
    try {
      f.pool->wait_until_ready(30s);
      FAIL("no error");
    } catch (const protocols::failure& e) {
      CHECK(e.code() == errc::reward_failed);
      CHECK(contains(e.what(), "worker 'worker/0': AttributeError"));
      CHECK(contains(e.what(), "rewards.py has no function 'absent'"));
    }
    CHECK(contains(f.grade("absent", {"a"})[0].error, "no function 'absent'"));
  }

  TEST_CASE("an import that does not end has one deadline for all starts") {
    tests::temporary_directory directory;
    const auto file = (directory.path() / "slow.py").string();
    std::ofstream{file} << "import time\ntime.sleep(1000)\n";
    direct_starter direct;
    auto starter = direct.get("TROUPE_TEST_MARK=slow" + file);
    int num_starts = 0;
    starter.start = [&num_starts, start = starter.start](const auto& request) {
      ++num_starts;
      start(request);
    };
    worker_pool_options options;
    options.keeper_argv = {PROCESS_FIXTURE, "keeper"};
    options.functions = {file + ":f"};
    options.start_deadline = 300ms;
    worker_pool pool{options, starter};

    std::string text;
    try {
      pool.wait_until_ready(20s);
    } catch (const protocols::failure& why) {
      text = why.what();
    }

    CHECK(text.find("not ready within 300 ms: its functions were still being "
                    "imported")
          != std::string::npos);
    CHECK(num_starts == 1);
  }

  TEST_CASE("when_ready tells once, before the first call") {
    auto ask = [](pool_fixture& f) {
      std::promise<std::string> told;
      auto answer = told.get_future();
      f.pool->when_ready([&](const std::optional<protocols::failure>& why) {
        told.set_value(why ? why->what() : "ready");
      });
      REQUIRE(answer.wait_for(30s) == std::future_status::ready);
      return answer.get();
    };
    pool_fixture good{{"length"}}, bad{{"absent"}};

    CHECK(ask(good) == "ready");
    CHECK(ask(good) == "ready");
    CHECK(contains(ask(bad), "has no function 'absent'"));
  }

  TEST_CASE("what a function returns is said when it is no list of numbers") {
    pool_fixture f{
      {"returns_dict", "returns_none", "returns_huge", "raises_odd_text"}};

    CHECK(contains(f.grade("returns_dict", {"a"})[0].error,
                   "returned dict {'a': 1}; allowed: a list with a number for "
                   "each of the 1 completions"));
    CHECK(contains(f.grade("returns_none", {"a"})[0].error,
                   "returned NoneType None"));
    CHECK(f.grade("returns_huge", {"a"})[0].error
          == "not a finite number of 32 bits: 1e+300");
    auto odd = f.grade("raises_odd_text", {"a"})[0].error;
    CHECK(contains(odd, "ValueError: \\udcff"));
    CHECK(odd.size() < 9000);
    CHECK(odd.find("/dev/fd/") == std::string::npos);
    CHECK(f.pool->num_replacements() == 0);
  }

  TEST_CASE("what a pool cannot grade is refused by name") {
    pool_fixture f{{"length"}};
    auto refusal = [&](const grade_request& request) -> std::string {
      try {
        f.pool->grade(request, 1s, [](auto) {});
        return "";
      } catch (const protocols::failure& e) {
        CHECK(e.code() == errc::invalid_request);
        return e.what();
      }
    };
    CHECK(refusal({"other", {"a"}, {}})
          == "no reward function 'other' in this pool");
    CHECK(refusal({f.file + ":length", {"a"}, {{"answers", {}}}})
          == "column 'answers' has 0 entries for 1 completions");
  }

  TEST_CASE("stopping a pool answers the calls that wait and those that run") {
    pool_fixture f{{"hangs"}};
    f.pool->wait_until_ready(30s);
    auto running = f.start("hangs", {"a"});
    auto waiting = f.start("hangs", {"a"});

    f.pool.reset();

    CHECK(running.get()[0].code == errc::shutting_down);
    CHECK(waiting.get()[0].code == errc::shutting_down);
  }

} // TEST_SUITE
