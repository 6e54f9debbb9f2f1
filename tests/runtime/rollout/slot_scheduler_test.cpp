// SPDX-License-Identifier: Apache-2.0
#include "runtime/rollout/slot_scheduler.hpp"

#include <memory>
#include <string>
#include <utility>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("runtime.slot_scheduler");

using namespace troupe::runtime::rollout;
using troupe::protocols::slot_machine;

namespace {

std::unique_ptr<active_group> make_group(std::uint64_t serial,
                                         std::int64_t num_prompt,
                                         std::int64_t num_samples) {
  auto group = std::make_unique<active_group>();
  group->serial = serial;
  group->request.prompt_ids.assign(static_cast<std::size_t>(num_prompt), 1);
  group->request.num_samples = num_samples;
  group->samples.resize(static_cast<std::size_t>(num_samples));
  return group;
}

struct scheduler_fixture {
  explicit scheduler_fixture(std::int64_t num_slots,
                             prompt_sharing sharing = prompt_sharing::on)
    : scheduler(num_slots, sharing,
                [this](std::int64_t slot, auto, auto event, auto to) {
                  moves += std::to_string(slot);
                  moves += ' ';
                  moves += to_string(event);
                  moves += " -> ";
                  moves += to_string(to);
                  moves += '\n';
                }) {}

  /// Computes all that can be computed and draws token 9 for those who can.
  void run_step() {
    scheduler.admit();
    scheduler.plan(512, rows);
    scheduler.count_cached(rows);
    for (const auto slot : rows.drawing) {
      scheduler.slots()[static_cast<std::size_t>(slot)]
        .sample()
        .completion_ids.push_back(9);
      scheduler.go_on(slot);
    }
  }

  std::string moves;
  slot_scheduler scheduler;
  step_rows rows;
};

} // namespace

TEST_CASE("RB-1: samples enter in the order of arrival and respect the slots") {
  scheduler_fixture f(2);
  auto a = make_group(1, 2, 1), b = make_group(2, 2, 1),
       c = make_group(3, 2, 1);
  for (auto* g : {a.get(), b.get(), c.get()})
    f.scheduler.enqueue(*g);

  f.scheduler.admit();

  CHECK(f.scheduler.slots()[0].group == a.get());
  CHECK(f.scheduler.slots()[1].group == b.get());
  CHECK(!f.scheduler.is_queue_empty());
}

TEST_CASE("the next sample takes the slot that is free, others stay") {
  scheduler_fixture f(2);
  auto a = make_group(1, 2, 1), b = make_group(2, 2, 1),
       c = make_group(3, 2, 1);
  for (auto* g : {a.get(), b.get(), c.get()})
    f.scheduler.enqueue(*g);
  f.run_step();

  f.scheduler.finish(0);
  f.scheduler.admit();

  CHECK(f.scheduler.slots()[0].group == c.get());
  CHECK(f.scheduler.slots()[1].group == b.get());
  CHECK(f.scheduler.is_queue_empty());
}

TEST_CASE("rows that decode come first, prefill follows up to its budget") {
  scheduler_fixture f(3);
  auto a = make_group(1, 2, 1), b = make_group(2, 3, 1),
       c = make_group(3, 4, 1);
  f.scheduler.enqueue(*a);
  f.run_step();
  f.scheduler.enqueue(*b);
  f.scheduler.enqueue(*c);
  f.scheduler.admit();

  f.scheduler.plan(5, f.rows);

  CHECK(f.rows.slots == std::vector<std::int32_t>{0, 1, 1, 1, 2, 2});
  CHECK(f.rows.positions == std::vector<std::int32_t>{2, 0, 1, 2, 0, 1});
  CHECK(f.rows.ids == std::vector<std::int32_t>{9, 1, 1, 1, 1, 1});
  CHECK(f.rows.wanted == std::vector<std::int32_t>{0, 3});
  CHECK(f.rows.drawing == std::vector<std::int64_t>{0, 1});
  CHECK(f.rows.keeping.empty());
}

TEST_CASE("siblings wait for the first one's prompt, if sharing is on") {
  const auto sharing = std::pair(prompt_sharing::on, prompt_sharing::off);
  for (const auto on : {sharing.first, sharing.second}) {
    scheduler_fixture f(3, on);
    auto a = make_group(1, 4, 3);
    f.scheduler.enqueue(*a);
    f.scheduler.admit();

    f.scheduler.plan(512, f.rows);

    const bool shares = on == prompt_sharing::on;
    CHECK(f.rows.num_prefill_rows == (shares ? 4 : 12));
    CHECK(f.rows.waiting.size() == (shares ? 2 : 0));
    CHECK(f.rows.keeping.size() == (shares ? 1 : 0));
  }
}

TEST_CASE("when the first sibling is aborted, the next one prefills") {
  scheduler_fixture f(2);
  auto a = make_group(1, 4, 2);
  f.scheduler.enqueue(*a);
  f.scheduler.admit();

  f.scheduler.abort(0);
  f.scheduler.plan(512, f.rows);

  CHECK(f.rows.slots == std::vector<std::int32_t>(4, 1));
  CHECK(f.rows.waiting.empty());
}

TEST_CASE("a dropped cache sends samples back to their first token") {
  scheduler_fixture f(2);
  auto a = make_group(1, 3, 1);
  f.scheduler.enqueue(*a);
  f.run_step();
  f.run_step();

  CHECK(f.scheduler.drop_cached() == 1);
  f.scheduler.plan(512, f.rows);

  CHECK(f.rows.ids == std::vector<std::int32_t>{1, 1, 1, 9, 9});
  CHECK(f.rows.wanted == std::vector<std::int32_t>{4});
  CHECK(f.rows.num_decode_rows == 0);
}

TEST_CASE("withdrawn samples never enter") {
  scheduler_fixture f(1);
  auto a = make_group(1, 2, 3), b = make_group(2, 2, 1);
  f.scheduler.enqueue(*a);
  f.scheduler.enqueue(*b);

  f.scheduler.withdraw(*a);
  f.scheduler.admit();

  CHECK(f.scheduler.slots()[0].group == b.get());
}

TEST_CASE("RB-4: the observer sees each change of a slot's state") {
  scheduler_fixture f(1);
  auto a = make_group(1, 2, 2);
  f.scheduler.enqueue(*a);
  f.run_step();
  f.run_step();
  f.scheduler.drop_cached();
  f.scheduler.finish(0);
  f.scheduler.admit();
  f.scheduler.abort(0);

  CHECK(f.moves
        == "0 sample_admitted -> prefilling\n"
           "0 token_sampled -> decoding\n"
           "0 cache_dropped -> prefilling\n"
           "0 token_sampled -> retired\n"
           "0 row_cleared -> free\n"
           "0 sample_admitted -> prefilling\n"
           "0 sample_aborted -> retired\n"
           "0 row_cleared -> free\n");
}

TEST_CASE("a copied prefix is all layers' keys and values, and no more") {
  const kv_cache_layout layout{2, 3, 4, 2};
  std::vector<float> memory(layout.num_bytes() / sizeof(float));
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<float>(i);
  const auto before = memory;
  const kv_cache_view cache{memory.data(), layout};

  cache.copy_prefix(2, 0, 3);

  for (std::int64_t l = 0; l < 2; ++l)
    for (std::int64_t p = 0; p < 4; ++p)
      for (std::int64_t i = 0; i < 2; ++i) {
        const auto k = cache.keys(l, 0, p) - memory.data() + i;
        const auto v = cache.values(l, 0, p) - memory.data() + i;
        const auto from = p < 3 ? 2 * 4 * 2 : 0; // two slots on
        CHECK(memory[static_cast<std::size_t>(k)]
              == before[static_cast<std::size_t>(k + from)]);
        CHECK(memory[static_cast<std::size_t>(v)]
              == before[static_cast<std::size_t>(v + from)]);
      }
  CHECK(layout.num_bytes() == 2 * 2 * 3 * 4 * 2 * sizeof(float));
}

TEST_SUITE_END();
