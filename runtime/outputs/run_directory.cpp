// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/run_directory.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/file_io.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace troupe::runtime::outputs {

namespace fs = std::filesystem;

using protocols::errc;
using protocols::failure;

namespace {

constexpr std::array subfolders{layout::tensorboard, layout::journal,
                                layout::cards, layout::logs,
                                layout::checkpoints};

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    throw failure{errc::io_failed, "cannot make the folder " + path.string()
                                     + ": " + error.message()
                                     + "; see run.directory"};
}

std::string read_holder(int fd) {
  char buffer[32];
  const auto size = ::pread(fd, buffer, sizeof buffer, 0);
  std::string text{buffer, size > 0 ? static_cast<std::size_t>(size) : 0};
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text.empty() ? "unknown" : text;
}

/// Takes the lock, or says who holds it.
checkpoint::file_handle take_lock(const fs::path& directory) {
  const auto path = directory / layout::lock;
  checkpoint::file_handle lock{path, O_RDWR | O_CREAT};
  if (::flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      checkpoint::throw_errno("lock", path);
    throw failure{errc::config_conflict,
                  directory.string() + " belongs to a running job, process "
                    + read_holder(lock.fd())
                    + "; wait for it, end it, or name another run.directory"};
  }
  if (::ftruncate(lock.fd(), 0) != 0)
    checkpoint::throw_errno("truncate", path);
  const auto pid = std::to_string(::getpid()) + '\n';
  checkpoint::write_all(lock, std::as_bytes(std::span{pid}), path);
  return lock;
}

/// True if a step, a checkpoint or a model is there: more than a start that
/// was refused leaves.
bool has_results(const fs::path& directory) {
  std::error_code ignored;
  const auto size = fs::file_size(directory / layout::metrics, ignored);
  return (!ignored && size > 0)
         || (fs::exists(directory / layout::checkpoints)
             && !fs::is_empty(directory / layout::checkpoints))
         || fs::exists(directory / layout::final_model);
}

/// Takes away what a start without results left.
void clear_start(const fs::path& directory) {
  for (const auto name :
       {layout::resolved, layout::summary, layout::metrics, layout::rollouts})
    fs::remove(directory / name);
  for (const auto name : subfolders)
    fs::remove_all(directory / name);
}

/// A folder with other things in it is not filled with a run: the root, or one
/// that was named by mistake.
void require_no_others(const fs::path& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator{directory, error}) {
    const auto name = entry.path().filename().string();
    const bool is_ours =
      name == layout::lock
      || std::ranges::find(subfolders, name) != subfolders.end();
    if (!is_ours && !name.starts_with('.') && name != "lost+found")
      throw failure{errc::config_conflict,
                    directory.string() + " is no run's folder: it holds " + name
                      + "; allowed as run.directory: a new folder, an empty "
                        "one, or that of a run"};
  }
}

void check_mode(const fs::path& directory, open_mode mode) {
  const bool has_run = fs::exists(directory / layout::resolved);
  if (has_run && mode == open_mode::fresh && has_results(directory))
    throw failure{errc::config_conflict,
                  directory.string()
                    + " holds a run already; add --resume to go on with it, "
                      "or name another run.directory"};
  if (!has_run && mode == open_mode::resume)
    throw failure{errc::checkpoint_absent,
                  directory.string() + " holds no run to resume (no "
                    + std::string{layout::resolved}
                    + "); leave out --resume, or name another run.directory"};
}

} // namespace

run_directory run_directory::open(const fs::path& directory, open_mode mode) {
  if (mode == open_mode::resume)
    check_mode(directory, mode);
  else if (!fs::exists(directory / layout::resolved))
    require_no_others(directory);
  make_folder(directory);
  auto lock = take_lock(directory);
  check_mode(directory, mode);
  if (mode == open_mode::fresh && fs::exists(directory / layout::resolved))
    clear_start(directory);
  for (const auto name : subfolders)
    make_folder(directory / name);
  return {directory, lock.release()};
}

run_directory::run_directory(run_directory&& other) noexcept
  : path_(std::move(other.path_)), lock_fd_(std::exchange(other.lock_fd_, -1)) {
}

run_directory::~run_directory() {
  if (lock_fd_ >= 0)
    ::close(lock_fd_);
}

void run_directory::write_resolved(std::string_view yaml) const {
  checkpoint::replace_file(path_ / layout::resolved, yaml);
}

} // namespace troupe::runtime::outputs
