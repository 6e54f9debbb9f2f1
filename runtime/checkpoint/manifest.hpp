// SPDX-License-Identifier: Apache-2.0
//
// A training checkpoint is a directory `step-N` with files and a manifest.json
// that names them with size and XXH3-64. It is written as `step-N.partial` and
// sealed: fsync of each file and of the directory, rename, fsync of the
// parent. What is called `step-N` is therefore complete, or damaged later.
//
// Not here: what the files mean.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::checkpoint {

constexpr std::int64_t manifest_format_version = 1;

struct manifest_file {
  std::string name; ///< within the directory; no separators
  std::uint64_t bytes = 0;
  std::uint64_t xxh3_64 = 0;
};

struct manifest {
  std::string job_identity;   ///< equal for a job and its continuation
  std::string model_identity; ///< its path, or the sizes of a fresh one
  std::int64_t step = 0;      ///< train steps done
  std::uint64_t policy_version = 0;
  std::vector<manifest_file> files;
};

struct sealed_checkpoint {
  std::int64_t step = 0;
  std::filesystem::path path;
};

/// What is done when the stage is reported, in this order.
enum class seal_stage : std::uint8_t {
  files_synced,     ///< the content of each file is on the disk
  manifest_written, ///< and manifest.json, too
  directory_synced, ///< and the names in step-N.partial
  renamed,          ///< step-N is seen by readers
  parent_synced,    ///< and will be after a power cut
};

/// Owns `step-N.partial` from creation to seal. Its lock file tells other
/// processes that the writer is alive; the kernel drops the lock with the
/// process. A writer that dies without seal leaves the directory behind for
/// retain_newest().
/// Thread: one at a time; blocks on the disk.
class checkpoint_writer {
public:
  /// Makes `directory`/step-N.partial, after removing what a dead writer left
  /// there. Errors: io_failed (path, errno; or owned by a live writer).
  checkpoint_writer(const std::filesystem::path& directory, std::int64_t step);
  checkpoint_writer(const checkpoint_writer&) = delete;
  checkpoint_writer& operator=(const checkpoint_writer&) = delete;
  ~checkpoint_writer();

  /// Returns the folder to write into.
  [[nodiscard]] const std::filesystem::path& path() const { return partial_; }

  /// Records a file that lies in path(), after reading it once for its
  /// checksum. Files of other processes count, too.
  /// Errors: io_failed; invalid_request (a separator, or named twice).
  void add_file(const std::string& name);

  /// Records a file whose checksum the one who wrote it has reported.
  void add_file(manifest_file file);

  /// Seals; `what.files` is filled in, `what.step` must be the writer's. An
  /// older `step-N` is exchanged in one move, then removed. Returns step-N.
  /// `on_stage` is told what is done; what it throws ends the seal there.
  /// Errors: io_failed (path, errno); checkpoint_corrupt (a recorded file is
  /// missing or has another size).
  std::filesystem::path
  seal(manifest what, const std::function<void(seal_stage)>& on_stage = {});

private:
  std::filesystem::path directory_;
  std::filesystem::path partial_;
  std::int64_t step_;
  int lock_fd_ = -1;
  std::vector<manifest_file> files_;
};

/// Returns the checkpoints of `directory` that were sealed, newest first.
/// A missing directory has none.
std::vector<sealed_checkpoint>
list_sealed(const std::filesystem::path& directory);

/// Reads manifest.json, and holds it against the names and sizes on disk.
/// Errors: checkpoint_absent (no such directory); checkpoint_corrupt (file and
/// reason).
manifest read_manifest(const std::filesystem::path& checkpoint);

/// Reads all files and compares checksums.
/// Errors: as read_manifest; checkpoint_corrupt names the file, both sums.
manifest verify(const std::filesystem::path& checkpoint);

/// Errors: checkpoint_mismatch (checkpoint, which identity, both values).
void require_identity(const manifest& found,
                      const std::filesystem::path& checkpoint,
                      std::string_view job_identity,
                      std::string_view model_identity);

/// Removes all sealed checkpoints but the newest `keep` (at least one stays),
/// and the partial ones without a live writer. Returns what was removed.
/// Errors: io_failed.
std::vector<std::filesystem::path>
retain_newest(const std::filesystem::path& directory, std::int64_t keep);

} // namespace troupe::runtime::checkpoint
