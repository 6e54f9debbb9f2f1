// SPDX-License-Identifier: Apache-2.0
#include "tests/support/subprocess.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/support/doctest.hpp"

using namespace std::chrono_literals;
using namespace troupe;

namespace {

struct tree {
  tests::temporary_directory run;
  tests::subprocess launcher;
  pid_t coordinator = 0;
  pid_t rank = 0;
  pid_t keeper = 0;

  explicit tree(const std::string& scenario)
    : launcher({PROCESS_FIXTURE, "launcher", scenario, run.path().string()}) {}

  void await_ready() {
    auto line = launcher.read_line();
    REQUIRE(line);
    std::istringstream in{*line};
    std::string word;
    in >> word >> coordinator >> rank >> keeper;
    REQUIRE(word == "ready");
    // launcher, coordinator, rank, keeper, worker, its daemon; who started the
    // daemon may not have ended yet
    REQUIRE(launcher.await_survivors(6, std::chrono::seconds{10}));
    REQUIRE(launcher.survivors().size() == 6);
  }

  [[nodiscard]] bool says(const std::string& text) const {
    auto errors = launcher.errors();
    CAPTURE(errors);
    auto found = errors.find(text) != std::string::npos;
    CHECK(found);
    return found;
  }
};

} // namespace

TEST_SUITE("runtime.process.launcher") {

  TEST_CASE("one signal drains: exit code 0, nothing said, nobody left") {
    tree t{"draining"};
    t.await_ready();

    t.launcher.signal(SIGINT);

    CHECK(t.launcher.read_line() == "signal 2 1");
    CHECK(t.launcher.read_line() == "exited rank/0 signal 15 (SIGTERM) 1");
    CHECK(t.launcher.wait() == 0);
    CHECK(t.launcher.survivors().empty());
    CHECK(t.launcher.errors() == "");
  }

  TEST_CASE("a signal to one process of the tree drains all of it") {
    tree t{"draining"};
    t.await_ready();
    pid_t signalled = 0;
    SUBCASE("the coordinator") {
      signalled = t.coordinator;
    }
    SUBCASE("a rank") {
      signalled = t.rank;
    }

    ::kill(signalled, SIGHUP);

    CHECK(t.launcher.read_line() == "signal 15 1");
    CHECK(t.launcher.read_line() == "exited rank/0 signal 15 (SIGTERM) 1");
    CHECK(t.launcher.wait() == 0);
    CHECK(t.launcher.errors() == "");
    CHECK(t.launcher.survivors().empty());
  }

  TEST_CASE("a signal to every process of the tree is one drain") {
    tree t{"draining"};
    t.await_ready();
    std::vector<pid_t> order{t.keeper, t.launcher.pid(), t.rank, t.coordinator};
    SUBCASE("the launcher before the others") {}
    SUBCASE("the launcher behind the others") {
      std::reverse(order.begin(), order.end());
    }

    for (pid_t pid : order)
      ::kill(pid, SIGINT);

    const auto first = t.launcher.read_line();
    const bool is_first = first == "signal 2 1" || first == "signal 15 1";
    CHECK(is_first);
    CHECK(t.launcher.read_line() == "exited rank/0 signal 15 (SIGTERM) 1");
    CHECK(t.launcher.wait() == 0);
    CHECK(t.launcher.errors() == "");
    CHECK(t.launcher.survivors().empty());
  }

  TEST_CASE("a fault after the report does not fail a good run") {
    tree t{"teardown_fault"};
    t.await_ready();

    t.launcher.signal(SIGTERM);

    CHECK(t.launcher.wait() == 0);
    CHECK(t.says("warning: completed, teardown fault"));
    CHECK(t.launcher.survivors().empty());
  }

  TEST_CASE("two signals abort: exit code 130 by the deadline") {
    tree t{"deaf"};
    t.await_ready();
    SUBCASE("a coordinator that does not listen") {}
    SUBCASE("a frozen coordinator") {
      ::kill(t.coordinator, SIGSTOP);
    }

    t.launcher.signal(SIGINT);
    if (t.launcher.survivors().size() == 6)
      t.launcher.signal(SIGTERM); // another number: two of one kind may merge

    CHECK(t.launcher.wait(5s) == 130);
    CHECK(t.says("coordinator did not abort the job within 500 ms"));
    CHECK(t.launcher.survivors().empty());
  }

  TEST_CASE("a third signal kills at once: exit code 3") {
    tree t{"deaf"};
    t.await_ready();

    t.launcher.signal(SIGINT);
    t.launcher.signal(SIGTERM);
    t.launcher.signal(SIGHUP);

    CHECK(t.launcher.wait(2s) == 3);
    CHECK(t.launcher.survivors().empty());
  }

  TEST_CASE("the coordinator's death ends the tree and is named") {
    tree t{"deaf"};
    t.await_ready();

    ::kill(t.coordinator, SIGKILL);

    CHECK(t.launcher.wait(5s) == 1);
    CHECK(t.launcher.errors()
          == "troupe: coordinator was killed by signal 9 (SIGKILL) before it "
             "could report; card in "
               + t.run.path().filename().string() + "\n");
    CHECK(t.launcher.survivors().empty());
  }

  TEST_CASE("a rank's death is told, and the coordinator ends the job") {
    tree t{"recovering"};
    t.await_ready();

    ::kill(t.rank, SIGKILL);

    CHECK(t.launcher.read_line() == "exited rank/0 signal 9 (SIGKILL) 0");
    CHECK(t.launcher.wait(5s) == 1);
    // Once, by who knows most.
    CHECK(t.launcher.errors() == "troupe: coordinator says: rank/0 is lost\n");
    CHECK(t.launcher.survivors().empty());
  }

  TEST_CASE("a rank's death ends the tree although the coordinator hangs") {
    tree t{"deaf"};
    t.await_ready();
    ::kill(t.coordinator, SIGSTOP);

    ::kill(t.rank, SIGKILL);

    CHECK(t.launcher.wait(5s) == 1);
    const auto card = "; card in " + t.run.path().filename().string() + "\n";
    CHECK(t.launcher.errors()
          == "troupe: rank/0 was killed by signal 9 (SIGKILL)" + card
               + "troupe: coordinator did not end the job after the loss of "
                 "rank/0"
               + card);
    CHECK(t.launcher.survivors().empty());
  }

  TEST_CASE("a process that did not end in order has its end recorded") {
    tree t{"deaf"};
    t.await_ready();

    ::kill(t.coordinator, SIGKILL);

    CHECK(t.launcher.wait(5s) == 1);
    std::ifstream ends{t.run.path() / "ends"};
    std::string line;
    REQUIRE(std::getline(ends, line));
    CHECK(line == "coordinator: signal 9 (SIGKILL)");
  }

  TEST_CASE("a coordinator that reports and does not end is ended") {
    tree t{"lingering"};

    CHECK(t.launcher.wait(5s) == 1);
    CHECK(t.says("the loop failed"));
    CHECK(t.says("did not end after its report"));
    CHECK(t.launcher.survivors().empty());
  }

  TEST_CASE("the launcher's death takes all with it") {
    tree t{"deaf"};
    t.await_ready();

    ::kill(t.launcher.pid(), SIGKILL);

    CHECK(t.launcher.wait(2s) == 128 + SIGKILL);
    // A rank's own daemon has nobody left to end it: ranks start none.
    auto left = t.launcher.survivors();
    for (pid_t pid : {t.coordinator, t.rank, t.keeper})
      CHECK(tests::await_end(pid, 5s));
    CHECK(t.launcher.survivors().size() <= 1);
  }

  TEST_CASE("a keeper's death leaves neither worker nor its daemon") {
    tree t{"deaf"};
    t.await_ready();

    ::kill(t.keeper, SIGKILL);

    CHECK(t.launcher.read_line() == "exited worker/0 signal 9 (SIGKILL) 0");
    CHECK(t.launcher.await_survivors(3, 5s));
    CHECK_FALSE(t.launcher.await_survivors(2, 0s));
    t.launcher.signal(SIGINT);
    t.launcher.signal(SIGTERM);
    t.launcher.signal(SIGHUP);
    CHECK(t.launcher.wait(2s) == 3);
    CHECK(t.launcher.survivors().empty());
  }

  TEST_CASE("a program that is not there is refused by name with exit code 2") {
    tree t{"bad_program"};

    CHECK(t.launcher.read_line()
          == "cannot start process 'rank/9': /no/such: No such file or "
             "directory");
    CHECK(t.launcher.wait() == 2);
    CHECK(t.says("refused by the fixture"));
  }

  TEST_CASE("a rank has its own log and no descriptor but those named") {
    tree t{"draining"};
    t.await_ready();
    t.launcher.signal(SIGINT);
    REQUIRE(t.launcher.wait() == 0);

    auto log = tests::read_text(t.run.path() / "logs" / "rank-0.log");
    // 4 is the listing itself
    CHECK(log == "rank with descriptors 0 1 2 3 4 \n");
  }

  TEST_CASE("twenty clean runs end silently with exit code 0") {
    for (int run = 0; run < 20; ++run) {
      tree t{"draining"};
      t.await_ready();
      t.launcher.signal(SIGINT);
      REQUIRE(t.launcher.wait() == 0);
      REQUIRE(t.launcher.errors() == "");
      REQUIRE(t.launcher.survivors().empty());
    }
  }

} // TEST_SUITE
