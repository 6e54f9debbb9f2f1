// SPDX-License-Identifier: Apache-2.0
//
// Cards: what an inspector may know of a process without asking it. Each
// process owns one memory-mapped file, cards/<process>, with a card per actor.
// The process only writes; launcher and `troupe inspect` map it read-only
// (card_reader.hpp), so a frozen or dead process can still be read. A card is
// not a log: the journal is (runtime/journal).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::runtime::inspect {

enum class process_kind : std::uint32_t { launcher, coordinator, rank, worker };

/// Returns the enumerator's name, "unknown" for a number that is none.
std::string_view to_string(process_kind kind);

/// One entry of an actor's event ring. Texts are cut to the layout's widths
/// (card_layout.hpp).
struct card_event {
  std::string_view machine = {}; ///< or another kind, such as "warning"
  std::string_view from = {};
  std::string_view to = {};
  std::string_view event = {};
  std::string_view text = {};
};

class card_file;

/// A handle on one actor's card: a pointer to copy. A default-constructed
/// handle, and one from a full file, writes into nothing.
///
/// Thread: every function may be called from any thread; none blocks on I/O or
/// on a reader. Writers of one card exclude each other for a copy of 1 KiB.
class card {
public:
  card() = default;

  [[nodiscard]] explicit operator bool() const noexcept {
    return slot_ != nullptr;
  }

  /// Records the state of a machine that the actor owns: at most
  /// `max_states` machines, further ones are counted as failures to record.
  void set_state(std::string_view machine, std::string_view state) const;

  /// A message was put into the mailbox.
  void count_in() const;
  /// A message was sent.
  void count_out() const;

  /// A message was taken out of the mailbox. The mailbox's depth is what came
  /// and was not taken.
  void count_taken() const;
  /// It was put back: not handled in this state.
  void count_put_back() const;

  /// A handler runs from now on.
  void begin_handler(std::string_view message) const;
  /// The handler returned.
  void end_handler() const;

  /// Remembers the last error and counts one failure.
  void set_error(std::string_view text) const;
  void set_progress(std::optional<std::uint64_t> step,
                    std::optional<std::uint64_t> policy_version) const;
  /// Appends to the ring of the last 256 events.
  void event(const card_event& entry) const;
  /// The actor ended. Its card stays until the file needs the place.
  void close(std::string_view reason) const;

private:
  friend class card_file;
  struct slot;
  std::shared_ptr<slot> slot_;
};

/// The card file of this process.
///
/// Thread: as for `card`. Errors of the file system don't reach the caller of
/// a card: only `create` can fail.
class card_file : public std::enable_shared_from_this<card_file> {
public:
  /// Makes `run_dir/cards/<process>`, a '/' in the name as '-', with all its
  /// pages reserved, and puts it in the place of one of an earlier incarnation.
  /// On a full disk the cards live in anonymous memory instead, invisible from
  /// outside, and `warning` says so.
  ///
  /// Errors: io_failed if the folder cannot be made or written for another
  /// reason.
  static std::shared_ptr<card_file> create(const std::filesystem::path& run_dir,
                                           std::string_view process,
                                           process_kind kind,
                                           std::string_view run_id);

  /// Writes how a process ended into the file that it left behind; for who saw
  /// it die (the launcher). Returns false if there is no such file.
  static bool record_end(const std::filesystem::path& run_dir,
                         std::string_view process, std::string_view cause);

  card_file(const card_file&) = delete;
  card_file& operator=(const card_file&) = delete;
  ~card_file();

  /// Gives an actor its card. `owner` is the name of the actor that owns it,
  /// empty for a root. If all places are taken by live actors, the handle
  /// writes into nothing and the file counts it.
  card add(std::string_view actor, std::string_view kind,
           std::string_view owner);

  /// What the process is about, such as "loading" or "running".
  void set_process_state(std::string_view text);
  /// Why the process is about to end, where it knows.
  void set_end(std::string_view cause);

  [[nodiscard]] const std::string& process() const noexcept;
  /// Starts at 1 and grows with each process of this name in the folder.
  [[nodiscard]] std::uint64_t incarnation() const noexcept;
  [[nodiscard]] const std::string& run_id() const noexcept;
  [[nodiscard]] const std::filesystem::path& run_directory() const noexcept;
  /// Empty, or why nobody can see these cards.
  [[nodiscard]] const std::string& warning() const noexcept;

private:
  card_file();
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace troupe::runtime::inspect
