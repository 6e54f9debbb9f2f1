// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/card_file.hpp"

#include "runtime/inspect/card_layout.hpp"
#include "runtime/inspect/card_reader.hpp"
#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>
#include <optional>

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::inspect;
using troupe::tests::contains;
using troupe::tests::failure_of;
using troupe::tests::temporary_folder;

namespace {

process_view only(const std::filesystem::path& run_dir) {
  auto all = read_cards(run_dir);
  REQUIRE(all.size() == 1);
  REQUIRE_MESSAGE(!all.front().unreadable, all.front().unreadable.value_or(""));
  return all.front();
}

/// Overwrites bytes of a file.
void patch(const std::filesystem::path& file, std::streamoff at,
           std::string_view bytes) {
  std::fstream out{file, std::ios::in | std::ios::out | std::ios::binary};
  out.seekp(at);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

TEST_SUITE_BEGIN("runtime.inspect.card_file");

TEST_CASE("a card shows what its actor did") {
  const temporary_folder run;
  const auto file =
    card_file::create(run.path(), "rank-0", process_kind::rank, "run-7");
  const auto actor = file->add("rollout/dp=0", "rollout", "supervisor");
  file->set_process_state("running");

  actor.set_state("rollout", "ready");
  actor.set_state("actor", "busy");
  actor.set_state("rollout", "generating");
  actor.count_in();
  actor.count_in();
  actor.count_in();
  actor.count_taken();
  actor.begin_handler("decode_quantum");
  actor.count_out();
  actor.set_error("a row had no answer");
  actor.set_progress(12, 11);
  actor.event(
    {"rollout", "ready", "generating", "generate_requested", "group"});

  const auto process = only(run.path());
  CHECK(process.name == "rank-0");
  CHECK(process.run_id == "run-7");
  CHECK(process.kind == process_kind::rank);
  CHECK(process.pid == ::getpid());
  CHECK(process.incarnation == 1);
  CHECK(process.life == process_life::running);
  CHECK(process.state == "running");
  CHECK(process.end.empty());
  REQUIRE(process.actors.size() == 1);
  const auto& view = process.actors.front();
  CHECK(view.name == "rollout/dp=0");
  CHECK(view.kind == "rollout");
  CHECK(view.owner == "supervisor");
  REQUIRE(view.states.size() == 2);
  CHECK(view.states[0].machine == "rollout");
  CHECK(view.states[0].state == "generating");
  CHECK(view.states[1].state == "busy");
  CHECK(view.handler == "decode_quantum");
  CHECK(view.in_total == 3);
  CHECK(view.out_total == 1);
  CHECK(view.mailbox == 2);
  CHECK(view.mailbox_max == 3);
  CHECK(view.failures == 1);
  CHECK(view.last_error == "a row had no answer");
  CHECK(view.step == 12u);
  CHECK(view.policy_version == 11u);
  CHECK_FALSE(view.ended.has_value());
  REQUIRE(view.events.size() == 1);
  CHECK(view.events[0].event == "generate_requested");
  CHECK(view.events[0].text == "group");
  CHECK(view.events[0].age.count() >= 0);
}

TEST_CASE("a handler that returned leaves the actor idle") {
  const temporary_folder run;
  const auto file =
    card_file::create(run.path(), "rank-0", process_kind::rank, "r");
  const auto actor = file->add("trainer", "trainer", "");
  actor.begin_handler("train");
  actor.end_handler();
  CHECK(only(run.path()).actors.at(0).handler.empty());
}

TEST_CASE("a move that ends where it began keeps the time of entry") {
  const temporary_folder run;
  const auto file =
    card_file::create(run.path(), "rank-0", process_kind::rank, "r");
  const auto actor = file->add("rollout", "rollout", "");
  actor.set_state("rollout", "generating");
  const auto before = only(run.path()).actors.at(0).states.at(0).age;
  actor.set_state("rollout", "generating");
  CHECK(only(run.path()).actors.at(0).states.at(0).age > before);
}

TEST_CASE("the ring keeps the last 256 events and counts all") {
  const temporary_folder run;
  const auto file =
    card_file::create(run.path(), "rank-0", process_kind::rank, "r");
  const auto actor = file->add("rollout", "rollout", "");
  for (int i = 0; i < 300; ++i)
    actor.event({"m", "a", "b", std::to_string(i), ""});

  const auto view = only(run.path()).actors.at(0);
  REQUIRE(view.events.size() == 256);
  CHECK(view.num_events == 300);
  CHECK(view.events.front().event == "44");
  CHECK(view.events.back().event == "299");
}

TEST_CASE("an ended actor stays until a new one needs its place") {
  const temporary_folder run;
  const auto file =
    card_file::create(run.path(), "rank-0", process_kind::rank, "r");
  const auto first = file->add("first", "k", "");
  const auto second = file->add("second", "k", "");
  second.event({"m", "a", "b", "old", ""});
  second.count_in();
  second.close("stopped in order");
  first.close("later");
  for (std::uint32_t i = 2; i < layout::cards_per_file; ++i)
    file->add("live-" + std::to_string(i), "k", "");
  CHECK(only(run.path()).actors.at(1).ended == "stopped in order");

  const auto third = file->add("third", "k", "");
  second.event({"m", "a", "b", "stale", ""});
  second.set_state("m", "stale");

  const auto view = only(run.path()).actors.at(1);
  CHECK(view.name == "third");
  CHECK(view.events.empty());
  CHECK(view.states.empty());
  CHECK(view.in_total == 0);
  CHECK_FALSE(view.ended.has_value());
}

TEST_CASE("an actor that finds no place is counted and writes into nothing") {
  const temporary_folder run;
  const auto file =
    card_file::create(run.path(), "rank-0", process_kind::rank, "r");
  for (std::uint32_t i = 0; i < layout::cards_per_file; ++i)
    file->add("live", "k", "");

  const auto extra = file->add("extra", "k", "");
  extra.set_state("m", "s");
  extra.begin_handler("h");

  CHECK_FALSE(extra);
  CHECK(only(run.path()).cards_refused == 1);
}

TEST_CASE("a further machine than a card holds is an error on the card") {
  const temporary_folder run;
  const auto file =
    card_file::create(run.path(), "rank-0", process_kind::rank, "r");
  const auto actor = file->add("a", "k", "");
  for (const auto* machine : {"m1", "m2", "m3", "m4", "m5"})
    actor.set_state(machine, "s");
  const auto view = only(run.path()).actors.at(0);
  CHECK(view.states.size() == 4);
  CHECK(view.last_error == "card: no place for the state of machine m5");
}

TEST_CASE("the next process of a name is the next incarnation") {
  const temporary_folder run;
  card_file::create(run.path(), "rank-0", process_kind::rank, "r1");
  const auto next =
    card_file::create(run.path(), "rank-0", process_kind::rank, "r2");
  CHECK(next->incarnation() == 2);
  CHECK(only(run.path()).run_id == "r2");
}

TEST_CASE("cards without room on the disk stay in memory and say so") {
  const temporary_folder run;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto* const handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);

  const auto file =
    card_file::create(run.path(), "rank-0", process_kind::rank, "r");
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);

  const auto path = (run.path() / "cards" / "rank-0").string();
  CHECK(file->warning()
        == "cards of rank-0 stay in memory, unseen: " + path
             + ": File too large");
  file->add("rollout/dp=0", "rollout", "supervisor")
    .set_state("rollout", "ready");
  CHECK(std::filesystem::is_empty(run.path() / "cards"));
}

TEST_CASE("how a process ended can be told by another") {
  const temporary_folder run;
  const auto file =
    card_file::create(run.path(), "rank-0", process_kind::rank, "r");
  file->set_process_state("training");
  CHECK(card_file::record_end(run.path(), "rank-0", "killed by signal 9"));
  CHECK_FALSE(card_file::record_end(run.path(), "rank-1", "?"));
  const auto view = only(run.path());
  CHECK(view.state == "training");
  CHECK(view.end == "killed by signal 9");
}

TEST_CASE("files that are no card files are named with the reason") {
  const temporary_folder run;
  card_file::create(run.path(), "rank-0", process_kind::rank, "r");
  const auto file = run.path() / "cards" / "rank-0";
  std::string expected;

  SUBCASE("another version") {
    patch(file, 8, std::string_view{"\x09\0\0\0", 4});
    expected = "layout version 9, this program reads 1";
  }
  SUBCASE("foreign") {
    patch(file, 0, "SQLite f");
    expected = "not a card file: it does not begin with TROUPECD";
  }
  SUBCASE("torn") {
    std::filesystem::resize_file(file, 1000);
    expected = "1000 bytes, a card file has "
               + std::to_string(layout::file_bytes)
               + ": torn, or of another version";
  }
  SUBCASE("other sizes under the same version") {
    patch(file, 16, std::string_view{"\x01\0\0\0", 4});
    expected = "layout version 1 with other sizes: torn, or of another build";
  }
  SUBCASE("a folder") {
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    expected = "not a regular file";
  }

  const auto all = read_cards(run.path());
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == "rank-0");
  CHECK(all[0].unreadable == expected);
}

TEST_CASE("random bytes behind a right header are read without harm") {
  const temporary_folder run;
  card_file::create(run.path(), "rank-0", process_kind::rank, "r");
  std::string noise(layout::file_bytes - sizeof(layout::file_header), '\0');
  std::uint32_t x = 2463534242u; // xorshift32, Marsaglia 2003
  for (auto& c : noise) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    c = static_cast<char>(x);
  }
  patch(run.path() / "cards" / "rank-0", sizeof(layout::file_header), noise);
  for (const auto& actor : only(run.path()).actors)
    CHECK(actor.events.size() <= layout::ring_size);
}

TEST_CASE("a folder without cards is an empty list") {
  const temporary_folder run;
  CHECK(read_cards(run.path()).empty());
}

TEST_CASE("a card file that cannot be made names the folder") {
  const temporary_folder run;
  std::ofstream{run.path() / "cards"} << "in the way";
  const auto text = failure_of(
    [&] { card_file::create(run.path(), "rank-0", process_kind::rank, "r"); });
  CHECK(text.starts_with("io_failed: cannot make the "));
  CHECK(contains(text, (run.path() / "cards").string()));
}

TEST_SUITE_END();
