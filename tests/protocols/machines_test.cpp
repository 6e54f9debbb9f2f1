// SPDX-License-Identifier: Apache-2.0
#include "protocols/machines.hpp"

#include "protocols/machine_instance.hpp"
#include "protocols/machine_list.hpp"
#include "protocols/machine_text.hpp"

#include <set>
#include <string>

#include "tests/support/doctest.hpp"

namespace troupe::protocols {

TEST_SUITE_BEGIN("protocols.machines");

TEST_CASE("every machine of this version is found by its name") {
  std::set<std::string_view> names;
  for (const auto& m : machines()) {
    names.insert(m.name);
    CHECK(find_machine(m.name) == &m);
  }

  CHECK(names
        == std::set<std::string_view>{"actor", "cache", "checkpoint", "group",
                                      "host", "job", "rank", "rollout",
                                      "shutdown", "slot", "weights"});
  CHECK(find_machine("wieghts") == nullptr);
}

TEST_CASE("an edge is one that a row has") {
  const auto& job = *find_machine("job");

  CHECK(is_edge(job, "running", "drain_requested", "draining"));
  CHECK_FALSE(is_edge(job, "running", "drain_requested", "done"));
  CHECK_FALSE(is_edge(job, "running", "placed", "draining"));
  CHECK(is_terminal(job, "done"));
  CHECK_FALSE(is_terminal(job, "closing"));
  CHECK(job.initial == "submitted");
}

TEST_CASE("a move that is none is explained") {
  const auto& m = *find_machine("checkpoint");

  CHECK_FALSE(why_not_edge(m, "none", "save_requested", "writing"));
  CHECK(*why_not_edge(m, "none", "save_requested", "sealed")
        == "machine 'checkpoint': 'save_requested' does not lead from 'none' "
           "to 'sealed'; it may lead to: writing");
  CHECK(*why_not_edge(m, "sealed", "save_requested", "writing")
        == "machine 'checkpoint': 'save_requested' does not lead from "
           "'sealed' to 'writing'; it is decided as reject: it is there");
  CHECK(*why_not_edge(m, "open", "save_requested", "writing")
        == "machine 'checkpoint' has no state 'open'; it has: none, writing, "
           "sealed, failed");
  CHECK(why_not_edge(m, "none", "saved", "writing")
          ->starts_with("machine 'checkpoint' has no event 'saved'; it has: "
                        "save_requested, "));
}

TEST_CASE("CK-1: a checkpoint is sealed when all its parts are there") {
  machine_instance<checkpoint_machine> m{"checkpoint/step-1"};
  using e = checkpoint_machine::event;
  m.facts().num_parts = 2;
  m.apply(e::save_requested);
  m.apply(e::part_written);

  m.apply(e::checkpoint_sealed);
  CHECK(m.state() == checkpoint_machine::state::writing);
  m.apply(e::part_written);
  m.apply(e::checkpoint_sealed);
  CHECK(m.state() == checkpoint_machine::state::sealed);
}

TEST_CASE("I8: in every phase of the shutdown a wait has its deadline") {
  using e = shutdown_machine::event;
  for (const auto phase : shutdown_machine::phases) {
    machine_instance<shutdown_machine> m{"shutdown"};
    m.apply(e::shutdown_requested);
    while (m.state() != phase)
      m.apply(e::phase_acked);

    m.apply(e::deadline_expired);
    CHECK(m.state() == shutdown_machine::state::aborting);
    m.apply(e::deadline_expired);
    CHECK(m.state() == shutdown_machine::state::done);
  }
}

TEST_CASE("a loop that gives up is closed in order, and has failed") {
  machine_instance<job_machine> m{"job"};
  using e = job_machine::event;
  for (const auto event : {e::placement_began, e::placed, e::ranks_joined})
    m.apply(event);

  const auto out = m.apply(e::loop_failed);
  CHECK(out.taken->effects[2] == job_machine::effect::begin_shutdown);
  m.apply(e::shutdown_finished);
  CHECK(m.state() == job_machine::state::failed);
}

TEST_CASE("drawing and tables show every row") {
  for (const auto& m : machines()) {
    const auto drawing = mermaid(m);
    const auto tables = markdown_tables(m);
    for (const auto& e : m.edges) {
      const std::string guard =
        e.guard == "always" ? "" : " [" + std::string{e.guard} + ']';
      CHECK(drawing.find("  " + std::string{e.from} + " --> "
                         + std::string{e.to} + " : " + std::string{e.event}
                         + guard + '\n')
            != std::string::npos);
      CHECK(tables.find(e.why) != std::string::npos);
    }
  }
}

TEST_CASE("Promela names the instance's variables") {
  const auto text = promela(*find_machine("cache"));

  CHECK(text.find("(cache_num_leases[who_] > 0 || !cache_can_keep_addresses"
                  "[who_])")
        != std::string::npos);
  CHECK(text.find("cache_num_leases[who_] = cache_num_leases[who_] + 1; "
                  "cache_state[who_] = cache_in_held; "
                  "do_cache_map_pages(who_) ")
        != std::string::npos);
}

TEST_SUITE_END();

} // namespace troupe::protocols
