// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a card file, shared by its writer and its readers. A change of
// anything here is a new `layout_version`; readers refuse others by name.
//
//   file_header | card_block x cards_per_file
//
// Numbers are in the host's order: a card file is read where it was written,
// or after a copy to a machine of the same kind.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace troupe::runtime::inspect::layout {

inline constexpr std::array<char, 8> magic{'T', 'R', 'O', 'U',
                                           'P', 'E', 'C', 'D'};
inline constexpr std::uint32_t layout_version = 1;
inline constexpr std::uint32_t cards_per_file = 64;
inline constexpr std::size_t ring_size = 256; ///< of each card
inline constexpr std::size_t max_states = 4;  ///< machines of one actor
inline constexpr std::uint64_t absent = ~std::uint64_t{0};

using word = std::atomic<std::uint64_t>;
static_assert(word::is_always_lock_free && sizeof(word) == 8);

/// A text of at most N bytes, cut where it is longer.
template <std::size_t N>
struct text {
  std::array<char, N> bytes;

  text& operator=(std::string_view from) {
    const auto size = std::min(from.size(), N);
    std::copy_n(from.data(), size, bytes.data());
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(),
              '\0');
    return *this;
  }

  [[nodiscard]] std::string_view view() const {
    return {bytes.data(), ::strnlen(bytes.data(), N)};
  }
};

struct no_interruption {
  void operator()() const {}
};

/// A value with one writer and any number of readers in other processes: a
/// seqlock over four copies. A reader starts over only if four publications
/// complete while it copies, and a writer that was frozen or killed half-way
/// leaves the last complete copy readable. All zero is a published T{}.
///
/// Source: H. Boehm, "Can seqlocks get along with programming language memory
/// models?", MSPC 2012, section 4. Differs: copies instead of an odd count.
template <class T>
class published {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0);
  static constexpr std::size_t num_words = sizeof(T) / 8, num_copies = 4;

public:
  /// `midway` is called in the midst of the copy: a test reads there.
  template <class F = no_interruption>
  void publish(const T& value, F midway = {}) {
    const auto next = count_.load(std::memory_order_relaxed) + 1;
    auto& to = copies_[next % num_copies];
    std::array<std::uint64_t, num_words> from;
    std::memcpy(from.data(), &value, sizeof(T));
    // Whoever sees a word of this copy must see the count before it, too.
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < num_words; ++i) {
      if (i == num_words / 2)
        midway();
      to[i].store(from[i], std::memory_order_relaxed);
    }
    count_.store(next, std::memory_order_release);
  }

  /// Returns false when the writer was faster, time and again. `midway` is
  /// called in the midst of each copy: a test publishes there.
  template <class F = no_interruption>
  bool read(T& value, F midway = {}) const {
    std::array<std::uint64_t, num_words> into;
    for (int i = 0; i < 1000; ++i) {
      const auto before = count_.load(std::memory_order_acquire);
      const auto& from = copies_[before % num_copies];
      for (std::size_t w = 0; w < num_words; ++w) {
        if (w == num_words / 2)
          midway();
        into[w] = from[w].load(std::memory_order_relaxed);
      }
      std::atomic_thread_fence(std::memory_order_acquire);
      // The writer enters this copy again after publishing the three others.
      if (count_.load(std::memory_order_relaxed) - before < num_copies - 1) {
        std::memcpy(&value, into.data(), sizeof(T));
        return true;
      }
    }
    return false;
  }

private:
  word count_;
  std::array<std::array<word, num_words>, num_copies> copies_;
};

struct process_data {
  text<128> state;
  text<512> end;
};

struct file_header {
  std::array<char, 8> magic;
  std::uint32_t version, header_bytes, card_bytes, num_cards;
  std::uint32_t kind, pid;
  std::uint64_t incarnation;
  std::uint64_t start_ticks; ///< of /proc/pid/stat: tells a reused number
  std::uint64_t pid_namespace;
  std::int64_t start_realtime_ns, start_mono_ns;
  text<40> boot_id;
  text<64> host, run_id, process;
  word cards_refused;
  published<process_data> process_block;
};

struct state_data {
  text<24> machine, state;
  std::int64_t since_mono_ns;
};

struct card_data {
  std::uint64_t in_use, ended;
  std::uint64_t first_event; ///< earlier ones belong to the place's last user
  std::int64_t created_mono_ns;
  text<96> actor, owner;
  text<32> kind;
  std::array<state_data, max_states> states;
  std::uint64_t failures;
  text<320> last_error;
  std::uint64_t step, policy_version; ///< or `absent`
  text<96> ended_reason;
};

struct activity_data {
  text<48> handler; ///< empty: idle
  std::int64_t since_mono_ns;
};

struct event_data {
  std::int64_t mono_ns;
  text<16> from, to;
  text<24> machine, event;
  text<32> what;
};

/// An entry carries its number, 0 while it is written.
struct event_entry {
  word number;
  std::array<word, sizeof(event_data) / 8> words;
};
static_assert(sizeof(event_entry) == 128 && sizeof(event_data) % 8 == 0);

struct card_block {
  published<card_data> card;
  published<activity_data> activity;
  word in_total, out_total, taken_total, mailbox_max;
  word num_events; ///< ever appended
  std::array<event_entry, ring_size> events;
};

inline constexpr std::size_t file_bytes =
  sizeof(file_header) + cards_per_file * sizeof(card_block);

/// Appends to the ring; one writer at a time. `midway` as above.
template <class F = no_interruption>
void append(card_block& block, const event_data& value, F midway = {}) {
  const auto index = block.num_events.load(std::memory_order_relaxed);
  auto& entry = block.events[index % ring_size];
  std::array<std::uint64_t, sizeof(event_data) / 8> from;
  std::memcpy(from.data(), &value, sizeof value);
  entry.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i == from.size() / 2)
      midway();
    entry.words[i].store(from[i], std::memory_order_relaxed);
  }
  entry.number.store(index + 1, std::memory_order_release);
  block.num_events.store(index + 1, std::memory_order_release);
}

/// Returns false if event `index` is gone, or is being overwritten. `midway` as
/// above.
template <class F = no_interruption>
bool read_event(const card_block& block, std::uint64_t index, event_data& value,
                F midway = {}) {
  const auto& entry = block.events[index % ring_size];
  if (entry.number.load(std::memory_order_acquire) != index + 1)
    return false;
  std::array<std::uint64_t, sizeof(event_data) / 8> into;
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (i == into.size() / 2)
      midway();
    into[i] = entry.words[i].load(std::memory_order_relaxed);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  if (entry.number.load(std::memory_order_relaxed) != index + 1)
    return false;
  std::memcpy(&value, into.data(), sizeof value);
  return true;
}

} // namespace troupe::runtime::inspect::layout
