// SPDX-License-Identifier: Apache-2.0
//
// The journal of this process: journal/<process>.jsonl, append-only. Actors
// record from any thread into a bounded ring; one thread of the writer's own
// takes it to the file. Records may be lost (full ring, full disk), but never
// silently: their sequence numbers are named by a record of kind "gap".
#pragma once

#include "runtime/inspect/card_file.hpp"
#include "runtime/journal/entry.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace troupe::runtime::journal {

struct writer_config {
  std::size_t max_pending = 4096; ///< records in memory, at least 1
  /// Records of other kinds than shutdown, job, host, rank, checkpoint, weights
  /// and control wait this long for company.
  std::chrono::milliseconds max_delay{100};
  std::uint64_t max_file_bytes = 16u << 20; ///< then the next file begins
  std::size_t max_files = 8;                ///< of one process; oldest go
};

/// Invariants:
/// 1. The sequence numbers in the files of one incarnation are gapless but for
///    what gap records name.
/// 2. The last record of a writer that was closed is its terminal record.
/// 3. `record` does no I/O and waits for none.
class writer {
public:
  /// Opens the journal of a card file's process and shows itself there as the
  /// actor "<process>/journal". A torn last line of an earlier incarnation is
  /// closed with a line end.
  ///
  /// Errors: io_failed when the folder cannot be made or the file not be
  /// opened. A disk that fills up later costs records, no failure.
  writer(std::shared_ptr<inspect::card_file> cards,
         const writer_config& config = {});
  /// Closes with the reason "destroyed" unless closed already.
  ~writer();
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  /// Records a move and returns its reference, for the `cause.ref` of what
  /// follows from it. With a card, the move also becomes the card's state of
  /// that machine and an entry of its event ring.
  ///
  /// Thread: any; never blocks on I/O. After `close` it does nothing and
  /// returns an empty text.
  std::string record(transition what, const inspect::card& card = {});

  /// Waits until all that was recorded before is in the file and synced.
  /// Returns false when the deadline came first or the disk refused.
  bool flush(std::chrono::steady_clock::time_point deadline);

  /// Writes the terminal record and ends the thread. Safe to repeat.
  void close(std::string_view reason);

  /// Records that are lost so far: ring full, disk full, or after a rotation
  /// failed.
  [[nodiscard]] std::uint64_t num_dropped() const;
  [[nodiscard]] const std::filesystem::path& file() const noexcept;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace troupe::runtime::journal
