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

TEST_CASE("the same reader without the check does see torn values") {
  // Shows that the writer above is fast enough to be caught: a plain copy of a
  // block that is written word by word is torn sooner or later.
  auto words = std::make_unique<std::array<layout::word, 64>>();
  const hammer writer{[&](auto i) {
    for (auto& w : *words)
      w.store(i, std::memory_order_relaxed);
  }};

  bool is_torn = false;
  for (long i = 0; i < 200'000'000 && !is_torn; ++i)
    is_torn = (*words)[0].load(std::memory_order_relaxed)
              != (*words)[63].load(std::memory_order_relaxed);

  CHECK(is_torn);
}

TEST_CASE("a writer that stops half-way leaves the last whole value") {
  auto block = std::make_unique<layout::published<sample>>();
  block->publish(sample::of(7));

  // The bytes of the next copy, half written and never published.
  auto* bytes = reinterpret_cast<unsigned char*>(block.get());
  std::fill_n(bytes + sizeof(std::uint64_t) + 2 * sizeof(sample),
              sizeof(sample) / 2, static_cast<unsigned char>(0xff));

  sample value{};
  REQUIRE(block->read(value));
  CHECK(value.is_whole());
  CHECK(value.words.front() == 7);
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
