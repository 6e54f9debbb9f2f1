// SPDX-License-Identifier: Apache-2.0
#include "runtime/inspect/card_file.hpp"

#include "protocols/failure.hpp"
#include "runtime/inspect/card_path.hpp"
#include "runtime/inspect/card_reader.hpp"
#include "runtime/inspect/card_slot.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace troupe::runtime::inspect {

using protocols::errc;
using protocols::failure;

std::string_view to_string(process_kind kind) {
  switch (kind) {
  case process_kind::launcher: return "launcher";
  case process_kind::coordinator: return "coordinator";
  case process_kind::rank: return "rank";
  case process_kind::worker: return "worker";
  }
  return "unknown";
}

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const char* what) {
  throw failure{errc::io_failed, "cannot " + std::string{what} + " "
                                   + path.string() + ": "
                                   + std::strerror(errno)};
}

struct descriptor {
  int value;
  ~descriptor() {
    if (value >= 0)
      ::close(value);
  }
};

layout::file_header& header_of(const mapping& memory) {
  return *reinterpret_cast<layout::file_header*>(memory.data());
}

} // namespace

struct card_file::impl {
  std::shared_ptr<mapping> memory;
  std::string process, run_id, warning;
  std::filesystem::path run_dir;
  std::uint64_t incarnation = 1;
  std::mutex writing; ///< guards what follows
  layout::process_data about{};
  std::vector<std::shared_ptr<card::slot>> slots; ///< by place

  layout::card_block& block(std::size_t place) const {
    return *reinterpret_cast<layout::card_block*>(
      memory->data() + sizeof(layout::file_header)
      + place * sizeof(layout::card_block));
  }

  /// Returns the place for one more card: a fresh one, or that of the actor
  /// which ended first; all live: nothing.
  std::optional<std::size_t> find_place() {
    if (slots.size() < layout::cards_per_file) {
      slots.emplace_back();
      return slots.size() - 1;
    }
    std::optional<std::size_t> best;
    std::int64_t earliest = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::lock_guard lock{slots[i]->writing};
      if (slots[i]->is_closed
          && (!best || slots[i]->ended_mono_ns < earliest)) {
        best = i;
        earliest = slots[i]->ended_mono_ns;
      }
    }
    return best;
  }

  void fill_header(process_kind kind) {
    const auto self = identify_self();
    auto& header = header_of(*memory);
    header.version = layout::layout_version;
    header.header_bytes = sizeof(layout::file_header);
    header.card_bytes = sizeof(layout::card_block);
    header.num_cards = layout::cards_per_file;
    header.kind = static_cast<std::uint32_t>(kind);
    header.pid = static_cast<std::uint32_t>(self.pid);
    header.incarnation = incarnation;
    header.start_ticks = self.start_ticks;
    header.pid_namespace = self.pid_namespace;
    header.start_realtime_ns = realtime_now_ns();
    header.start_mono_ns = mono_now_ns();
    header.boot_id = self.boot_id;
    header.host = self.host;
    header.run_id = run_id;
    header.process = process;
    header.magic = layout::magic;
  }
};

card_file::card_file() : impl_(std::make_unique<impl>()) {}

card_file::~card_file() = default;

std::shared_ptr<card_file>
card_file::create(const std::filesystem::path& run_dir,
                  std::string_view process, process_kind kind,
                  std::string_view run_id) {
  std::shared_ptr<card_file> result{new card_file};
  auto& self = *result->impl_;
  self.process = process;
  self.run_id = run_id;
  self.run_dir = run_dir;

  const auto path = card_path(run_dir, process);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error)
    throw failure{errc::io_failed, "cannot make the folder "
                                     + path.parent_path().string() + ": "
                                     + error.message()};
  const auto earlier = read_card_file(path);
  self.incarnation = earlier.incarnation + 1;

  // Made aside and renamed, so that no reader meets half a header.
  const auto aside =
    path.parent_path()
    / ("." + path.filename().string() + "." + std::to_string(::getpid()));
  const descriptor file{
    ::open(aside.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (file.value < 0)
    refuse(aside, "make the card file");
  // Reserved now: a store into a page that the disk has no room for would be
  // a bus error.
  errno = ::posix_fallocate(file.value, 0, layout::file_bytes);
  const bool is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
  if (errno != 0 && !is_full)
    refuse(aside, "reserve the pages of");
  if (is_full) {
    self.warning = "cards of " + self.process + " stay in memory, unseen: "
                   + path.string() + ": " + std::strerror(errno);
    ::unlink(aside.c_str());
  }
  self.memory = std::make_shared<mapping>(map_shared(
    is_full ? -1 : file.value, layout::file_bytes, PROT_READ | PROT_WRITE));
  if (!*self.memory)
    refuse(aside, "map the card file");
  self.fill_header(kind);
  if (!is_full && ::rename(aside.c_str(), path.c_str()) != 0)
    refuse(path, "put in place the card file");
  return result;
}

card card_file::add(std::string_view actor, std::string_view kind,
                    std::string_view owner) {
  const std::lock_guard lock{impl_->writing};
  const auto place = impl_->find_place();
  card result;
  if (!place) {
    header_of(*impl_->memory)
      .cards_refused.fetch_add(1, std::memory_order_relaxed);
    return result;
  }
  auto slot = std::make_shared<card::slot>();
  slot->keeps_mapped = impl_->memory;
  slot->block = &impl_->block(*place);
  for (auto* counter : {&slot->block->in_total, &slot->block->out_total,
                        &slot->block->taken_total, &slot->block->mailbox_max})
    counter->store(0, std::memory_order_relaxed);
  slot->publish_activity({});
  slot->edit([&](layout::card_data& data) {
    data.in_use = 1;
    data.first_event = slot->block->num_events.load(std::memory_order_relaxed);
    data.created_mono_ns = mono_now_ns();
    data.actor = actor;
    data.kind = kind;
    data.owner = owner;
    data.step = data.policy_version = layout::absent;
  });
  impl_->slots[*place] = slot;
  result.slot_ = std::move(slot);
  return result;
}

void card_file::set_process_state(std::string_view text) {
  const std::lock_guard lock{impl_->writing};
  impl_->about.state = text;
  header_of(*impl_->memory).process_block.publish(impl_->about);
}

void card_file::set_end(std::string_view cause) {
  const std::lock_guard lock{impl_->writing};
  impl_->about.end = cause;
  header_of(*impl_->memory).process_block.publish(impl_->about);
}

bool card_file::record_end(const std::filesystem::path& run_dir,
                           std::string_view process, std::string_view cause) {
  const auto path = card_path(run_dir, process);
  if (read_card_file(path).unreadable)
    return false;
  const descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
  if (file.value < 0)
    return false;
  const auto memory =
    map_shared(file.value, layout::file_bytes, PROT_READ | PROT_WRITE);
  if (!memory)
    return false;
  auto& block = header_of(memory).process_block;
  layout::process_data about{};
  block.read(about);
  about.end = cause;
  block.publish(about);
  return true;
}

const std::string& card_file::process() const noexcept {
  return impl_->process;
}

std::uint64_t card_file::incarnation() const noexcept {
  return impl_->incarnation;
}

const std::string& card_file::run_id() const noexcept {
  return impl_->run_id;
}

const std::filesystem::path& card_file::run_directory() const noexcept {
  return impl_->run_dir;
}

const std::string& card_file::warning() const noexcept {
  return impl_->warning;
}

} // namespace troupe::runtime::inspect
