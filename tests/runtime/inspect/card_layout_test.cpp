// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/card_layout.hpp"

#include <atomic>
#include <memory>
#include <thread>

#include "tests/support/doctest.hpp"

namespace layout = troupe::runtime::inspect::layout;

namespace {

/// Torn when its words differ.
struct sample {
  std::array<std::uint64_t, 64> words;

  static sample of(std::uint64_t value) {
    sample result{};
    result.words.fill(value);
    return result;
  }
  [[nodiscard]] bool is_whole() const {
    return std::all_of(words.begin(), words.end(),
                       [this](auto w) { return w == words.front(); });
  }
};

/// Runs `write(i)` for i = 1, 2, ... on another thread for as long as it lives.
template <class F>
class hammer {
public:
  explicit hammer(F write)
    : thread_{[this, write] {
        for (std::uint64_t i = 1; !stop_.load(std::memory_order_relaxed); ++i)
          write(i);
      }} {}
  ~hammer() {
    stop_ = true;
    thread_.join();
  }

private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

layout::event_data event_of(std::uint64_t value) {
  const auto text = std::to_string(value);
  layout::event_data data{};
  data.mono_ns = static_cast<std::int64_t>(value);
  data.from = data.to = text;
  data.machine = data.event = text;
  data.what = text;
  return data;
}

} // namespace

TEST_SUITE_BEGIN("runtime.inspect.card_layout");

TEST_CASE("a reader beside a hammering writer sees whole values in order") {
  auto block = std::make_unique<layout::published<sample>>();
  const hammer writer{[&](auto i) { block->publish(sample::of(i)); }};

  std::uint64_t last = 0;
  int num_read = 0, num_torn = 0, num_older = 0;
  while (num_read < 20000 || last == 0) {
    sample value{};
    if (!block->read(value))
      continue;
    ++num_read;
    num_torn += !value.is_whole();
    num_older += value.words.front() < last;
    last = value.words.front();
  }

  CHECK(num_torn == 0);
  CHECK(num_older == 0);
}

TEST_CASE("a reader in whose copy the writer publishes starts over in time") {
  layout::published<sample> block{};
  block.publish(sample::of(1));
  std::uint64_t next = 1;
  int num_copies = 0;
  int num_publications = 0;
  const auto interrupt = [&] {
    if (++num_copies == 1)
      for (int i = 0; i < num_publications; ++i)
        block.publish(sample::of(++next));
  };
  sample value{};

  SUBCASE("two leave its copy alone") {
    num_publications = 2;
    REQUIRE(block.read(value, interrupt));
    CHECK(num_copies == 1);
    CHECK(value.words.front() == 1);
  }
  SUBCASE("three: the fourth may be writing into it already") {
    num_publications = 3;
    REQUIRE(block.read(value, interrupt));
    CHECK(num_copies == 2);
    CHECK(value.words.front() == 4);
  }
  SUBCASE("four: a whole round is not taken for no change") {
    num_publications = 4;
    REQUIRE(block.read(value, interrupt));
    CHECK(num_copies == 2);
    CHECK(value.words.front() == 5);
  }
  CHECK(value.is_whole());
}

TEST_CASE("a reader that never gets through says so") {
  layout::published<sample> block{};
  std::uint64_t next = 0;
  sample value{};
  CHECK_FALSE(block.read(value, [&] {
    for (int i = 0; i < 3; ++i)
      block.publish(sample::of(++next));
  }));
}

TEST_CASE("an event that is overwritten while it is read is not given out") {
  auto block = std::make_unique<layout::card_block>();
  layout::append(*block, event_of(1));
  layout::event_data data{};
  CHECK(layout::read_event(*block, 0, data));

  CHECK_FALSE(layout::read_event(*block, 0, data, [&] {
    for (std::uint64_t i = 2; i <= layout::ring_size + 1; ++i)
      layout::append(*block, event_of(i));
  }));
  CHECK_FALSE(layout::read_event(*block, 0, data));
  CHECK(layout::read_event(*block, 1, data));
}

TEST_CASE("a writer that stops half-way leaves the last whole value") {
  layout::published<sample> block{};
  for (std::uint64_t i = 1; i <= 9; ++i)
    block.publish(sample::of(i), [&] {
      sample value{};
      REQUIRE(block.read(value));
      CHECK(value.is_whole());
      CHECK(value.words.front() == i - 1);
    });
}

TEST_CASE("an event that is half written is not given out, the others are") {
  auto block = std::make_unique<layout::card_block>();
  for (std::uint64_t i = 1; i <= layout::ring_size; ++i)
    layout::append(*block, event_of(i));
  layout::event_data data{};
  CHECK(layout::read_event(*block, 0, data));

  layout::append(*block, event_of(layout::ring_size + 1), [&] {
    CHECK_FALSE(layout::read_event(*block, 0, data));
    CHECK_FALSE(layout::read_event(*block, layout::ring_size, data));
    CHECK(layout::read_event(*block, 1, data));
  });

  CHECK(layout::read_event(*block, layout::ring_size, data));
}

TEST_CASE("a reader of the event ring sees whole entries only") {
  auto block = std::make_unique<layout::card_block>();
  const hammer writer{[&](auto i) { layout::append(*block, event_of(i)); }};

  int num_read = 0, num_wrong = 0;
  while (num_read < 20000) {
    const auto end = block->num_events.load();
    for (auto i = end > layout::ring_size ? end - layout::ring_size : 0;
         i < end; ++i) {
      layout::event_data data{};
      if (!layout::read_event(*block, i, data))
        continue; // overwritten meanwhile
      ++num_read;
      const auto text = std::to_string(i + 1);
      num_wrong += data.mono_ns != static_cast<std::int64_t>(i + 1)
                   || data.from.view() != text || data.what.view() != text;
    }
  }

  CHECK(num_wrong == 0);
}

TEST_CASE("a text is cut at its width") {
  layout::text<8> text{};
  text = "decode_quantum";
  CHECK(text.view() == "decode_q");
  text = "ready";
  CHECK(text.view() == "ready");
}

TEST_SUITE_END();
