// SPDX-License-Identifier: Apache-2.0
#include "protocols/failure.hpp"
#include "runtime/checkpoint/checksum.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/checkpoint/manifest.hpp"
#include "runtime/checkpoint/manifest_json.hpp"
#include "runtime/checkpoint/step_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace troupe::runtime::checkpoint {

namespace fs = std::filesystem;
using protocols::errc;
using protocols::failure;

namespace {

/// Puts `partial` at the place of `sealed`. If that one is there, they are
/// exchanged in one move, and true says that the older one is to be removed.
bool move_into_place(const fs::path& partial, const fs::path& sealed) {
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, sealed.c_str(),
                  RENAME_NOREPLACE)
      == 0)
    return false;
  if (errno != EEXIST
      || ::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, sealed.c_str(),
                     RENAME_EXCHANGE)
           != 0)
    throw_errno("rename", partial);
  return true;
}

} // namespace

checkpoint_writer::checkpoint_writer(const fs::path& directory,
                                     std::int64_t step)
  : directory_(directory),
    partial_(directory / (step_folder_name(step) + ".partial")), step_(step) {
  if (has_live_writer(partial_))
    throw failure{errc::io_failed,
                  partial_.string() + " is being written by a live process"};
  std::error_code error;
  fs::remove_all(partial_, error);
  if (!error)
    fs::create_directories(partial_, error);
  if (error)
    throw failure{errc::io_failed,
                  "cannot make " + partial_.string() + ": " + error.message()};
  const auto lock = partial_ / lock_name;
  file_handle made{lock, O_RDWR | O_CREAT};
  if (::flock(made.fd(), LOCK_EX | LOCK_NB) != 0)
    throw_errno("lock", lock);
  lock_fd_ = made.release();
}

checkpoint_writer::~checkpoint_writer() {
  if (lock_fd_ >= 0)
    ::close(lock_fd_);
}

void checkpoint_writer::add_file(const std::string& name) {
  const auto path = partial_ / name;
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error)
    throw failure{errc::io_failed,
                  "cannot read " + path.string() + ": " + error.message()};
  add_file(manifest_file{name, bytes, xxh3_64_of_file(path)});
}

void checkpoint_writer::add_file(manifest_file file) {
  const auto is_known =
    std::any_of(files_.begin(), files_.end(),
                [&](const auto& other) { return other.name == file.name; });
  if (!is_file_name(file.name) || file.name == lock_name || is_known)
    throw failure{errc::invalid_request,
                  "cannot record \"" + file.name + "\" in " + partial_.string()
                    + (is_known ? ": it is recorded already"
                                : ": a plain file name is needed")};
  files_.push_back(std::move(file));
}

fs::path
checkpoint_writer::seal(manifest what,
                        const std::function<void(seal_stage)>& on_stage) {
  TROUPE_ASSERT(what.step == step_, "CP-1: a writer seals its own step");
  const auto report = [&](seal_stage stage) {
    if (on_stage)
      on_stage(stage);
  };
  what.files = files_;
  for (const auto& file : what.files) {
    const auto path = partial_ / file.name;
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error || bytes != file.bytes)
      throw failure{
        errc::checkpoint_corrupt,
        path.string() + ": recorded with " + std::to_string(file.bytes)
          + " bytes, but "
          + (error ? error.message() : "has " + std::to_string(bytes))};
    sync_to_disk(path);
  }
  report(seal_stage::files_synced);
  replace_file(partial_ / manifest_name, manifest_to_json(what));
  report(seal_stage::manifest_written);
  sync_to_disk(partial_);
  report(seal_stage::directory_synced);
  const auto sealed = directory_ / step_folder_name(step_);
  const bool has_replaced = move_into_place(partial_, sealed);
  report(seal_stage::renamed);
  // Not before: without the lock, the partial folder would count as left over.
  fs::remove(sealed / lock_name);
  sync_to_disk(directory_);
  report(seal_stage::parent_synced);
  if (has_replaced)
    remove_step_folder(partial_);
  ::close(std::exchange(lock_fd_, -1));
  return sealed;
}

} // namespace troupe::runtime::checkpoint
