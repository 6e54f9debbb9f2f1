// SPDX-License-Identifier: Apache-2.0
#include "runtime/journal/writer.hpp"

#include "runtime/inspect/card_path.hpp"
#include "runtime/inspect/process_identity.hpp"
#include "runtime/journal/journal_file.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace troupe::runtime::journal {

namespace {

/// What the others of a process that dies now must not lose.
bool is_prompt(std::string_view kind) {
  constexpr std::array<std::string_view, 7> kinds{
    "shutdown", "job", "checkpoint", "weights", "rank", "host", "control"};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

} // namespace

struct writer::impl {
  using clock = std::chrono::steady_clock;

  impl(std::shared_ptr<inspect::card_file> owner, const writer_config& limits)
    : cards(std::move(owner)), config(limits),
      file(cards->run_directory() / "journal",
           inspect::file_name_of(cards->process()), limits.max_file_bytes,
           limits.max_files),
      own(cards->add(cards->process() + "/journal", "journal", {})) {
    config.max_pending = std::max<std::size_t>(config.max_pending, 1);
    pending.reserve(config.max_pending);
    taken.reserve(config.max_pending);
  }

  std::shared_ptr<inspect::card_file> cards;
  writer_config config;
  journal_file file;
  inspect::card own;

  std::mutex guard;
  std::condition_variable work, progress;
  // Guarded:
  std::vector<entry> pending;
  std::optional<clock::time_point> due; ///< when the oldest must be written
  bool is_urgent = false, is_closing = false;
  std::uint64_t last_seq = 0; ///< given out
  std::uint64_t sync_wanted = 0, synced_seq = 0;
  std::uint64_t num_dropped = 0;
  bool is_disk_well = true;

  // The thread's own:
  std::vector<entry> taken;
  std::uint64_t file_seq = 0; ///< up to here the file tells all
  int last_error = 0;
  std::uint64_t reported_drops = 0;
  std::thread thread;

  entry stamp(transition&& what) {
    entry r;
    r.run = cards->run_id();
    r.process = cards->process();
    r.incarnation = cards->incarnation();
    r.what = std::move(what);
    return r;
  }

  /// Numbers and dates a record and puts it into the ring; `guard` is held, so
  /// that numbers and times agree. A full ring costs the record, but its number
  /// is used.
  std::uint64_t push(entry&& r, std::size_t limit) {
    const auto seq = r.seq = ++last_seq;
    r.realtime_ns = inspect::realtime_now_ns();
    r.mono_ns = inspect::mono_now_ns();
    const bool was_urgent = is_urgent, was_idle = !due;
    is_urgent = is_urgent || is_prompt(r.what.kind)
                || pending.size() > config.max_pending / 2;
    if (was_idle)
      due = clock::now() + config.max_delay;
    if (pending.size() < limit)
      pending.push_back(std::move(r));
    else
      ++num_dropped;
    if (was_idle || (is_urgent && !was_urgent))
      work.notify_one();
    return seq;
  }

  entry control(std::string_view from, std::string_view to,
                std::string_view event, details d) {
    transition what;
    what.kind = "control";
    what.subject = cards->process() + "/journal";
    what.from = from;
    what.to = to;
    what.event = event;
    what.d = std::move(d);
    return stamp(std::move(what));
  }

  /// Returns the line for the numbers after `told` and before `next_seq`, none
  /// of which will ever come.
  std::string gap_line(std::uint64_t told, std::uint64_t next_seq) {
    auto r = control("open", "open", "dropped",
                     {{"first", told + 1}, {"dropped", next_seq - 1 - told}});
    r.what.kind = "gap";
    r.seq = next_seq - 1;
    r.realtime_ns = inspect::realtime_now_ns();
    r.mono_ns = inspect::mono_now_ns();
    return to_line(r) + "\n";
  }

  /// Writes the taken records. What the disk refuses is lost, and named by the
  /// gap record before the next one that it accepts.
  void write_taken() {
    std::string lines;
    auto told = file_seq;
    for (const auto& r : taken) {
      if (told + 1 < r.seq)
        lines += gap_line(told, r.seq);
      lines += to_line(r) + "\n";
      told = r.seq;
    }
    const int error = lines.empty() ? last_error : file.append(lines);
    if (error == 0)
      file_seq = told;
    else if (error != last_error)
      own.set_error("cannot write " + file.path().string() + ": "
                    + std::strerror(error) + "; records are dropped");
    last_error = error;
    file.rotate();
    const std::lock_guard lock{guard};
    if (error != 0)
      num_dropped += taken.size();
    is_disk_well = error == 0;
    if (error == 0 && num_dropped > reported_drops)
      own.set_error(std::to_string(num_dropped - reported_drops)
                    + " records dropped: more than "
                    + std::to_string(config.max_pending) + " were waiting");
    reported_drops = num_dropped;
  }

  void sync_if_wanted(std::uint64_t upto, bool wanted) {
    if (!wanted)
      return;
    const int error = file.sync();
    const std::lock_guard lock{guard};
    is_disk_well = is_disk_well && error == 0;
    synced_seq = upto;
  }

  void run() {
    std::unique_lock lock{guard};
    for (;;) {
      const auto must_act = [this] {
        return is_urgent || is_closing || sync_wanted > synced_seq;
      };
      work.wait(lock, [&] { return must_act() || due; });
      if (due)
        work.wait_until(lock, *due, must_act);
      taken.clear();
      taken.swap(pending);
      const auto upto = last_seq;
      const bool ends = is_closing;
      const bool syncs = ends || sync_wanted > synced_seq;
      due.reset();
      is_urgent = false;
      lock.unlock();
      write_taken();
      sync_if_wanted(upto, syncs);
      lock.lock();
      progress.notify_all();
      if (ends)
        return;
    }
  }
};

writer::writer(std::shared_ptr<inspect::card_file> cards,
               const writer_config& config)
  : impl_(std::make_unique<impl>(std::move(cards), config)) {
  auto& self = *impl_;
  const auto who = inspect::identify_self();
  self.push(
    self.control("none", "open", "journal_opened",
                 {{"pid", who.pid}, {"host", who.host}, {"boot", who.boot_id}}),
    config.max_pending);
  self.own.set_state("journal", "open");
  self.thread = std::thread{[&self] { self.run(); }};
}

writer::~writer() {
  close("destroyed");
}

std::string writer::record(transition what, const inspect::card& card) {
  if (!what.to.empty())
    card.set_state(what.kind, what.to);
  card.event({what.kind, what.from, what.to, what.event, what.because.by});
  auto& self = *impl_;
  auto stamped = self.stamp(std::move(what));
  std::uint64_t seq = 0;
  {
    const std::lock_guard lock{self.guard};
    if (self.is_closing)
      return {};
    seq = self.push(std::move(stamped), self.config.max_pending);
  }
  return reference(self.cards->process(), self.cards->incarnation(), seq);
}

bool writer::flush(std::chrono::steady_clock::time_point deadline) {
  auto& self = *impl_;
  std::unique_lock lock{self.guard};
  const auto upto = self.last_seq;
  self.sync_wanted = std::max(self.sync_wanted, upto);
  self.work.notify_one();
  return self.progress.wait_until(lock, deadline, [&] {
    return self.synced_seq >= upto;
  }) && self.is_disk_well;
}

void writer::close(std::string_view reason) {
  auto& self = *impl_;
  {
    const std::lock_guard lock{self.guard};
    if (self.is_closing)
      return;
    // One above the ring's limit: the last word is never dropped.
    self.push(self.control("open", "closed", "journal_closed",
                           {{"reason", std::string{reason}}}),
              self.config.max_pending + 1);
    self.is_closing = true;
    self.work.notify_one();
  }
  self.thread.join();
  self.own.set_state("journal", "closed");
  self.own.close(reason);
}

std::uint64_t writer::num_dropped() const {
  const std::lock_guard lock{impl_->guard};
  return impl_->num_dropped;
}

const std::filesystem::path& writer::file() const noexcept {
  return impl_->file.path();
}

} // namespace troupe::runtime::journal
