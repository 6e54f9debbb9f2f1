// SPDX-License-Identifier: Apache-2.0
//
// Cards and journals of processes that are frozen, killed or reaped. Pipes
// order parent and child; nothing sleeps.
#include "runtime/inspect/card_file.hpp"
#include "runtime/inspect/card_reader.hpp"
#include "runtime/inspect/last_state.hpp"
#include "runtime/inspect/views.hpp"
#include "runtime/journal/check.hpp"
#include "runtime/journal/writer.hpp"
#include "tests/support/temporary_folder.hpp"

#include <chrono>
#include <csignal>
#include <optional>
#include <sstream>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime;
using namespace troupe::runtime::inspect;
using troupe::tests::temporary_folder;

namespace {

/// A forked child that says through a pipe that it is where the test wants it.
class child {
public:
  template <class F>
  explicit child(F body) {
    REQUIRE(::pipe(pipe_) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::close(pipe_[0]);
      body([this] { return ::write(pipe_[1], "!", 1); });
      ::_exit(0);
    }
    ::close(pipe_[1]);
  }
  ~child() {
    ::close(pipe_[0]);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  void await_signal() {
    pollfd wanted{pipe_[0], POLLIN, 0};
    REQUIRE(::poll(&wanted, 1, 10'000) == 1);
    char byte = 0;
    REQUIRE(::read(pipe_[0], &byte, 1) == 1);
  }

  void freeze() {
    REQUIRE(::kill(pid_, SIGSTOP) == 0);
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, WUNTRACED) == pid_);
    REQUIRE(WIFSTOPPED(status));
  }

  /// Leaves a zombie.
  void kill_only() {
    REQUIRE(::kill(pid_, SIGKILL) == 0);
    siginfo_t info{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT)
            == 0);
  }

  void reap() {
    REQUIRE(::waitpid(pid_, nullptr, 0) == pid_);
    pid_ = -1;
  }

  [[nodiscard]] pid_t pid() const { return pid_; }

private:
  int pipe_[2] = {-1, -1};
  pid_t pid_ = -1;
};

/// A rank that is stuck in a handler for ever.
auto stuck_rank(const std::filesystem::path& run_dir) {
  return [run_dir](auto signal_parent) {
    const auto cards =
      card_file::create(run_dir, "rank-0", process_kind::rank, "run-7");
    journal::writer journal{cards};
    cards->set_process_state("generating");
    const auto actor = cards->add("rollout", "rollout", "");
    journal.record({.kind = "rollout",
                    .subject = "rollout",
                    .from = "unpublished",
                    .to = "ready",
                    .event = "weights_changed"},
                   actor);
    journal.record({.kind = "rollout",
                    .subject = "rollout",
                    .from = "ready",
                    .to = "generating",
                    .event = "generate_requested"},
                   actor);
    journal.flush(std::chrono::steady_clock::now() + std::chrono::seconds{10});
    actor.begin_handler("decode_quantum");
    signal_parent();
    for (;;)
      ::pause();
  };
}

/// A rank that changes its card without a pause, to be caught in the midst.
auto restless_rank(const std::filesystem::path& run_dir) {
  return [run_dir](auto signal_parent) {
    const auto cards =
      card_file::create(run_dir, "rank-0", process_kind::rank, "run-7");
    const auto actor = cards->add("rollout", "rollout", "");
    for (std::uint64_t i = 1;; ++i) {
      const auto text = std::to_string(i);
      actor.set_progress(i, i);
      actor.begin_handler(text);
      actor.event({text, text, text, text, text});
      if (i == 1000)
        signal_parent();
    }
  };
}

process_view only(const std::filesystem::path& run_dir) {
  const auto all = read_cards(run_dir);
  REQUIRE(all.size() == 1);
  REQUIRE_FALSE(all.front().unreadable.has_value());
  REQUIRE(all.front().actors.size() >= 1);
  return all.front();
}

std::string text_of(int (*view)(const std::filesystem::path&, view_format,
                                std::ostream&),
                    const std::filesystem::path& run_dir) {
  std::ostringstream out;
  CHECK(view(run_dir, view_format::text, out) == 0);
  return out.str();
}

bool has(const std::string& text, const std::string& part) {
  INFO("looked for: ", part, "\nin: ", text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

} // namespace

TEST_SUITE_BEGIN("runtime.inspect.lost_process");

TEST_CASE("a frozen process is listed with its handler and its last record") {
  const temporary_folder run;
  child rank{stuck_rank(run.path())};
  rank.await_signal();
  CHECK(only(run.path()).life == process_life::running);

  rank.freeze();

  const auto view = only(run.path());
  CHECK(view.life == process_life::stopped);
  CHECK(view.pid == rank.pid());
  const auto actors = text_of(inspect_actors, run.path());
  has(actors, "decode_quantum 0.");
  has(actors, "(frozen)");
  has(actors, "rollout=generating");
  const auto processes = text_of(inspect_processes, run.path());
  has(processes, "stopped");
  has(processes, "rollout rollout ready->generating");
}

TEST_CASE("a killed process is gone, as a zombie and after it was reaped") {
  const temporary_folder run;
  child rank{stuck_rank(run.path())};
  rank.await_signal();
  const auto pid = std::to_string(rank.pid());

  rank.kill_only();
  CHECK(only(run.path()).life == process_life::gone);
  rank.reap();
  CHECK(only(run.path()).life == process_life::gone);

  const auto sentence =
    describe_last_state(run.path(), "rank-0", "was killed by signal 9");
  has(sentence, "rank-0 (pid " + pid
                  + ") was killed by signal 9; it was generating; last state: "
                    "rollout=generating; in handler decode_quantum (rollout) "
                    "for 0.");
  has(sentence, "; last error: none");
  REQUIRE(card_file::record_end(run.path(), "rank-0", "killed by signal 9"));
  has(text_of(inspect_processes, run.path()), "killed by signal 9");
}

TEST_CASE("a killed process leaves a journal that passes its check") {
  const temporary_folder run;
  child rank{stuck_rank(run.path())};
  rank.await_signal();
  rank.kill_only();

  std::ostringstream out;
  CHECK(journal::check_journal(run.path(), out) == 0);
  CHECK(out.str() == "3 records of 1 processes: 0 findings\n");
}

TEST_CASE("a process killed while it writes leaves whole cards") {
  for (int i = 0; i < 30; ++i) {
    const temporary_folder run;
    child rank{restless_rank(run.path())};
    rank.await_signal();
    if (i % 2 == 0)
      rank.freeze();
    else
      rank.kill_only();

    const auto view = only(run.path()).actors.at(0);
    CHECK(view.step.value_or(0) >= 1000);
    CHECK(view.step == view.policy_version);
    CHECK(view.events.size() >= 255); // one may be half written
    for (const auto& event : view.events) {
      CHECK(event.from == event.to);
      CHECK(event.from == event.text);
    }
  }
}

TEST_SUITE_END();
