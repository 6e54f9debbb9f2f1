// SPDX-License-Identifier: Apache-2.0
//
// A FIFO in the journal's place tells when a line is written, and blocks the
// writer's thread for as long as nobody reads.
#include "runtime/journal/writer.hpp"

#include "runtime/inspect/card_reader.hpp"
#include "runtime/journal/check.hpp"
#include "runtime/journal/reader.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime;
using namespace troupe::runtime::journal;
using namespace std::chrono_literals;
using troupe::tests::contains;
using troupe::tests::failure_of;
using troupe::tests::temporary_folder;

namespace {

transition slot_move(const std::string& subject = "slot/0") {
  return {.kind = "slot",
          .subject = subject,
          .from = "free",
          .to = "prefilling",
          .event = "sample_admitted"};
}

transition link_note(std::size_t size = 0) {
  return {.kind = "link",
          .subject = "a-b",
          .event = "measured",
          .d = {{"text", std::string(size, 'x')}}};
}

auto make_cards(const temporary_folder& run) {
  return inspect::card_file::create(run.path(), "rank-0",
                                    inspect::process_kind::rank, "run-7");
}

bool flush(writer& to) {
  return to.flush(std::chrono::steady_clock::now() + 10s);
}

process_journal only(const temporary_folder& run) {
  auto all = read_journals(run.path());
  REQUIRE(all.size() == 1);
  return std::move(all.front());
}

std::string findings_of(const temporary_folder& run) {
  std::ostringstream out;
  check_journal(run.path(), out);
  return out.str();
}

std::string journal_card_error(const temporary_folder& run) {
  return inspect::read_cards(run.path()).at(0).actors.at(0).last_error;
}

/// A FIFO where the journal of rank-0 would be.
class fifo {
public:
  explicit fifo(const temporary_folder& run) {
    const auto path = run.path() / "journal" / "rank-0.jsonl";
    std::filesystem::create_directories(path.parent_path());
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    REQUIRE(descriptor_ >= 0);
    ::fcntl(descriptor_, F_SETPIPE_SZ, 4096);
  }
  ~fifo() { ::close(descriptor_); }

  /// Waits for bytes; empty at the writer's end.
  std::string read_some() {
    pollfd wanted{descriptor_, POLLIN, 0};
    REQUIRE(::poll(&wanted, 1, 10'000) == 1);
    std::string bytes(1 << 16, '\0');
    const auto n = ::read(descriptor_, bytes.data(), bytes.size());
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }

  /// Reads until `part` has come.
  std::string read_until(const std::string& part) {
    std::string all;
    while (!contains(all, part)) {
      const auto more = read_some();
      REQUIRE_FALSE(more.empty());
      all += more;
    }
    return all;
  }

private:
  int descriptor_ = -1;
};

/// Bounds the size of files for a while, as a full disk does.
class small_disk {
public:
  explicit small_disk(std::uint64_t max_bytes) {
    before_signal_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    auto limit = before_;
    limit.rlim_cur = max_bytes;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~small_disk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_signal_);
  }

private:
  rlimit before_{};
  void (*before_signal_)(int) = nullptr;
};

} // namespace

TEST_SUITE_BEGIN("runtime.journal.writer");

TEST_CASE("records are numbered, written in order, and end with a last word") {
  const temporary_folder run;
  {
    writer to{make_cards(run)};
    CHECK(to.record(slot_move("slot/0")) == "rank-0/2");
    CHECK(to.record(slot_move("slot/1")) == "rank-0/3");
    to.close("job done");
    to.close("again");
    CHECK(to.record(slot_move()).empty());
  }

  const auto journal = only(run);
  REQUIRE(journal.records.size() == 4);
  CHECK(journal.records[0].what.event == "journal_opened");
  CHECK(journal.records[1].run == "run-7");
  CHECK(journal.records[1].what.subject == "slot/0");
  CHECK(journal.records[2].what.subject == "slot/1");
  CHECK(journal.records[3].what.event == "journal_closed");
  CHECK(journal.records[1].mono_ns <= journal.records[2].mono_ns);
  CHECK(findings_of(run) == "4 records of 1 processes: 0 findings\n");
}

TEST_CASE("a record with a card moves the card and joins its events") {
  const temporary_folder run;
  const auto cards = make_cards(run);
  writer to{cards};
  const auto card = cards->add("rollout", "rollout", "");
  to.record({.kind = "rollout",
             .subject = "rollout",
             .from = "ready",
             .to = "generating",
             .event = "generate_requested",
             .because = {.by = "coordinator"}},
            card);
  const auto view = inspect::read_cards(run.path()).at(0).actors.at(1);
  CHECK(view.states.at(0).state == "generating");
  CHECK(view.events.at(0).event == "generate_requested");
  CHECK(view.events.at(0).text == "coordinator");
}

TEST_CASE("flush returns once everything is in the file") {
  const temporary_folder run;
  writer to{make_cards(run), {.max_delay = 1h}};
  for (int i = 0; i < 10; ++i)
    to.record(slot_move("slot/" + std::to_string(i)));
  REQUIRE(flush(to));
  CHECK(only(run).records.size() == 11);
}

TEST_CASE("decisions are written at once and take along what waits") {
  const temporary_folder run;
  fifo file{run};
  writer to{make_cards(run), {.max_delay = 1h}};
  file.read_until("journal_opened");

  to.record(slot_move());
  to.record({.kind = "checkpoint",
             .subject = "step-3",
             .from = "none",
             .to = "writing",
             .event = "save_requested"});

  CHECK(contains(file.read_until("save_requested"), "sample_admitted"));
}

TEST_CASE("other records are written after max_delay") {
  const temporary_folder run;
  fifo file{run};
  writer to{make_cards(run), {.max_delay = 5ms}};
  file.read_until("journal_opened");
  to.record(slot_move());
  file.read_until("sample_admitted");
}

TEST_CASE("recording never waits for the file: what overflows is a gap") {
  const temporary_folder run;
  std::string text;
  {
    auto file = std::make_unique<fifo>(run);
    auto to = std::make_unique<writer>(make_cards(run),
                                       writer_config{.max_pending = 16});
    // Nobody reads: the pipe takes a few, the ring 16, and the rest is lost.
    for (int i = 0; i < 500; ++i)
      to->record(link_note(200));
    const auto num_dropped = to->num_dropped();
    CHECK(num_dropped > 400);
    CHECK(num_dropped < 500);

    std::thread reader{[&] {
      for (auto more = file->read_some(); !more.empty();
           more = file->read_some())
        text += more;
    }};
    to->close("done");
    CHECK(contains(journal_card_error(run),
                   " records dropped: more than 16 were waiting"));
    CHECK(to->num_dropped() == num_dropped);
    to.reset();
    reader.join();
  }

  std::filesystem::remove(run.path() / "journal" / "rank-0.jsonl");
  troupe::tests::write_file(run.path() / "journal" / "rank-0.jsonl", text);
  CHECK(contains(text, "\"kind\":\"gap\""));
  const auto found = findings_of(run);
  CHECK(contains(found, ": 0 findings, "));
  CHECK(contains(found, " records dropped and counted"));
  CHECK(only(run).records.back().seq == 502);
}

TEST_CASE("a full disk costs records, no half lines, and shows on the card") {
  const temporary_folder run;
  writer to{make_cards(run)};
  REQUIRE(flush(to));
  {
    // Room for the first hundred bytes of a line.
    const small_disk disk{std::filesystem::file_size(to.file()) + 100};
    to.record(slot_move("slot/1"));
    CHECK_FALSE(flush(to));
    to.record(slot_move("slot/2"));
    CHECK_FALSE(flush(to));
  }
  CHECK(to.num_dropped() == 2);
  CHECK(contains(journal_card_error(run),
                 "cannot write " + to.file().string() + ": File too large"));
  to.record(slot_move("slot/3"));
  CHECK(flush(to));

  const auto journal = only(run);
  REQUIRE(journal.records.size() == 3);
  CHECK(journal.records[1].what.kind == "gap");
  CHECK(journal.records[2].what.subject == "slot/3");
  CHECK(findings_of(run)
        == "3 records of 1 processes: 0 findings, 2 records dropped and "
           "counted\n");
}

TEST_CASE("old files go and the rest still passes its check") {
  const temporary_folder run;
  writer to{make_cards(run), {.max_file_bytes = 2000, .max_files = 3}};
  for (int i = 0; i < 100; ++i) {
    to.record(slot_move("slot/" + std::to_string(i)));
    REQUIRE(flush(to));
  }
  to.close("done");

  std::uintmax_t bytes = 0, num_files = 0;
  for (const auto& file :
       std::filesystem::directory_iterator{run.path() / "journal"}) {
    ++num_files;
    bytes += file.file_size();
  }
  CHECK(num_files == 3);
  CHECK(bytes < 3 * 2600);
  const auto journal = only(run);
  CHECK(journal.starts_late);
  CHECK(journal.records.back().seq == 102);
  CHECK(contains(findings_of(run), ": 0 findings"));
}

TEST_CASE("the next incarnation closes a torn line and numbers from one") {
  const temporary_folder run;
  { writer first{make_cards(run)}; }
  std::ofstream{run.path() / "journal" / "rank-0.jsonl", std::ios::app}
    << "{\"v\":1,\"run\":\"ru";
  CHECK(contains(findings_of(run), "0 findings, 1 torn last lines ignored"));

  writer second{make_cards(run)};
  CHECK(second.record(slot_move()) == "rank-0:2/2");
  REQUIRE(flush(second));
  CHECK(findings_of(run)
        == "4 records of 1 processes: 0 findings, 1 torn last lines "
           "ignored\n");
}

TEST_CASE("a flush that can't be done in time says so") {
  const temporary_folder run;
  fifo file{run};
  writer to{make_cards(run)};
  for (int i = 0; i < 30; ++i) // more than the pipe takes
    to.record(link_note(200));
  CHECK_FALSE(to.flush(std::chrono::steady_clock::now() + 1ms));
  std::thread reader{[&] { file.read_until("journal_closed"); }};
  to.close("done");
  reader.join();
}

TEST_CASE("records of many threads keep one order of numbers and times") {
  const temporary_folder run;
  {
    writer to{make_cards(run)};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&to, t] {
        for (int i = 0; i < 200; ++i)
          to.record(slot_move(std::to_string(t) + "/" + std::to_string(i)));
      });
    for (auto& thread : threads)
      thread.join();
  }
  const auto journal = only(run);
  CHECK(findings_of(run) == "802 records of 1 processes: 0 findings\n");
  for (std::size_t i = 1; i < journal.records.size(); ++i)
    CHECK(journal.records[i - 1].mono_ns <= journal.records[i].mono_ns);
}

TEST_CASE("a journal that cannot be opened names the file") {
  const temporary_folder run;
  const auto cards = make_cards(run);
  std::filesystem::create_directories(run.path() / "journal" / "rank-0.jsonl");
  CHECK(failure_of([&] { const writer to{cards}; })
        == "io_failed: cannot open the journal "
             + (run.path() / "journal" / "rank-0.jsonl").string()
             + ": Is a directory");
}

TEST_SUITE_END();
