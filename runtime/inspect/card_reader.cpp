// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/card_reader.hpp"

#include "runtime/inspect/card_layout.hpp"
#include "runtime/inspect/card_path.hpp"
#include "runtime/inspect/mapping.hpp"
#include "runtime/inspect/process_identity.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe::runtime::inspect {

namespace {

/// Turns the writer's monotonic times into ages. Within a boot the clock is
/// one for all processes; across boots the wall clocks must do.
struct time_base {
  std::int64_t start_realtime_ns, start_mono_ns;
  bool is_same_clock;

  [[nodiscard]] std::int64_t realtime_ns(std::int64_t mono_ns) const {
    return start_realtime_ns + (mono_ns - start_mono_ns);
  }
  [[nodiscard]] std::chrono::nanoseconds age(std::int64_t mono_ns) const {
    const auto age = is_same_clock ? mono_now_ns() - mono_ns
                                   : realtime_now_ns() - realtime_ns(mono_ns);
    return std::chrono::nanoseconds{std::max<std::int64_t>(age, 0)};
  }
};

std::optional<std::uint64_t> known(std::uint64_t value) {
  return value == layout::absent ? std::nullopt : std::optional{value};
}

std::string text_of(std::string_view view) {
  return std::string{view};
}

void read_events(const layout::card_block& block, std::uint64_t first,
                 const time_base& times, actor_view& actor) {
  const auto end = block.num_events.load(std::memory_order_acquire);
  actor.num_events = end > first ? end - first : 0;
  const auto begin =
    end > layout::ring_size ? end - layout::ring_size : std::uint64_t{0};
  layout::event_data data{};
  for (auto i = std::max(begin, first); i < end; ++i) {
    if (!layout::read_event(block, i, data))
      continue;
    actor.events.push_back(
      {times.age(data.mono_ns), times.realtime_ns(data.mono_ns),
       text_of(data.machine.view()), text_of(data.from.view()),
       text_of(data.to.view()), text_of(data.event.view()),
       text_of(data.what.view())});
  }
}

std::optional<actor_view> read_card(const layout::card_block& block,
                                    const time_base& times) {
  layout::card_data data{};
  layout::activity_data activity{};
  if (!block.card.read(data) || !block.activity.read(activity)
      || data.in_use == 0)
    return std::nullopt;
  actor_view actor;
  actor.name = data.actor.view();
  actor.kind = data.kind.view();
  actor.owner = data.owner.view();
  for (const auto& entry : data.states)
    if (!entry.machine.view().empty())
      actor.states.push_back({text_of(entry.machine.view()),
                              text_of(entry.state.view()),
                              times.age(entry.since_mono_ns)});
  actor.handler = activity.handler.view();
  actor.activity_age = times.age(activity.since_mono_ns);
  // The counters move on their own: `taken` first, so that no message counts
  // as taken but not as come.
  const auto taken = block.taken_total.load(std::memory_order_acquire);
  actor.in_total = block.in_total.load(std::memory_order_relaxed);
  actor.out_total = block.out_total.load(std::memory_order_relaxed);
  actor.mailbox = actor.in_total > taken ? actor.in_total - taken : 0;
  actor.mailbox_max = block.mailbox_max.load(std::memory_order_relaxed);
  actor.failures = data.failures;
  actor.last_error = data.last_error.view();
  actor.step = known(data.step);
  actor.policy_version = known(data.policy_version);
  if (data.ended != 0)
    actor.ended = text_of(data.ended_reason.view());
  actor.age = times.age(data.created_mono_ns);
  read_events(block, data.first_event, times, actor);
  return actor;
}

/// Returns why the bytes are no card file of this layout.
std::optional<std::string> find_fault(const layout::file_header& header) {
  if (header.magic != layout::magic)
    return "not a card file: it does not begin with TROUPECD";
  if (header.version != layout::layout_version)
    return "layout version " + std::to_string(header.version)
           + ", this program reads " + std::to_string(layout::layout_version);
  if (header.header_bytes != sizeof(layout::file_header)
      || header.card_bytes != sizeof(layout::card_block)
      || header.num_cards != layout::cards_per_file)
    return "layout version " + std::to_string(header.version)
           + " with other sizes: torn, or of another build";
  return std::nullopt;
}

void fill_view(const layout::file_header& header, process_view& view) {
  view.name = header.process.view();
  view.run_id = header.run_id.view();
  view.host = header.host.view();
  view.kind = static_cast<process_kind>(header.kind);
  view.pid = header.pid;
  view.incarnation = header.incarnation;
  process_identity who;
  who.pid = header.pid;
  who.start_ticks = header.start_ticks;
  who.pid_namespace = header.pid_namespace;
  who.boot_id = header.boot_id.view();
  view.life = find_life(who);
  const time_base times{header.start_realtime_ns, header.start_mono_ns,
                        who.boot_id == identify_self().boot_id};
  view.start_realtime_ns = header.start_realtime_ns;
  view.age = times.age(header.start_mono_ns);
  layout::process_data about{};
  if (header.process_block.read(about)) {
    view.state = about.state.view();
    view.end = about.end.view();
  }
  view.cards_refused = header.cards_refused.load(std::memory_order_relaxed);
  const auto* at = reinterpret_cast<const std::byte*>(&header);
  for (std::size_t i = 0; i < layout::cards_per_file; ++i)
    if (auto actor = read_card(
          *reinterpret_cast<const layout::card_block*>(
            at + sizeof(layout::file_header) + i * sizeof(layout::card_block)),
          times))
      view.actors.push_back(std::move(*actor));
}

} // namespace

std::string_view to_string(process_life life) {
  switch (life) {
  case process_life::running: return "running";
  case process_life::stopped: return "stopped";
  case process_life::gone: return "gone";
  case process_life::elsewhere: return "elsewhere";
  }
  return "unknown";
}

process_view read_card_file(const std::filesystem::path& file) {
  process_view view;
  view.file = file;
  view.name = file.filename();
  const int descriptor =
    ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    view.unreadable = std::strerror(errno);
    return view;
  }
  struct stat info {};
  mapping memory;
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    view.unreadable = "not a regular file";
  else if (static_cast<std::size_t>(info.st_size) < layout::file_bytes)
    view.unreadable = std::to_string(info.st_size) + " bytes, a card file has "
                      + std::to_string(layout::file_bytes)
                      + ": torn, or of another version";
  else if (memory = map_shared(descriptor, layout::file_bytes, PROT_READ);
           !memory)
    view.unreadable = std::string{"cannot be mapped: "} + std::strerror(errno);
  ::close(descriptor);
  if (view.unreadable)
    return view;
  const auto& header =
    *reinterpret_cast<const layout::file_header*>(memory.data());
  view.unreadable = find_fault(header);
  if (!view.unreadable)
    fill_view(header, view);
  return view;
}

std::vector<process_view> read_cards(const std::filesystem::path& run_dir) {
  std::vector<process_view> result;
  std::error_code error;
  std::filesystem::directory_iterator entry{run_dir / "cards", error}, end;
  while (!error && entry != end) {
    // A dot: one that a process is still making.
    if (entry->path().filename().native().front() != '.')
      result.push_back(read_card_file(entry->path()));
    entry.increment(error);
  }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return result;
}

} // namespace troupe::runtime::inspect
