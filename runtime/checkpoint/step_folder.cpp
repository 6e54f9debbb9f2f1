// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/step_folder.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/file_io.hpp"

#include <charconv>
#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace troupe::runtime::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "step-";
constexpr std::string_view partial_suffix = ".partial";

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error)
    throw protocols::failure{protocols::errc::io_failed,
                             "cannot remove " + path.string() + ": "
                               + error.message()};
}

} // namespace

std::string step_folder_name(std::int64_t step) {
  return std::string{prefix} + std::to_string(step);
}

std::optional<step_folder> parse_step_folder(const fs::path& path) {
  const auto name = path.filename().string();
  auto rest = std::string_view{name};
  if (!rest.starts_with(prefix))
    return std::nullopt;
  rest.remove_prefix(prefix.size());
  step_folder out;
  out.path = path;
  out.is_partial = rest.ends_with(partial_suffix);
  if (out.is_partial)
    rest.remove_suffix(partial_suffix.size());
  const auto* end = rest.data() + rest.size();
  const auto [at, error] = std::from_chars(rest.data(), end, out.step);
  if (error != std::errc{} || at != end || out.step < 0)
    return std::nullopt;
  return out;
}

std::vector<step_folder> list_step_folders(const fs::path& directory) {
  std::vector<step_folder> out;
  if (!fs::exists(directory))
    return out;
  try {
    for (const auto& entry : fs::directory_iterator{directory})
      if (auto found = parse_step_folder(entry.path());
          found && entry.is_directory())
        out.push_back(std::move(*found));
  } catch (const fs::filesystem_error& error) {
    throw protocols::failure{protocols::errc::io_failed, error.what()};
  }
  return out;
}

bool has_live_writer(const fs::path& partial) {
  const auto path = partial / lock_name;
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return false;
  const bool is_free = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  ::close(fd);
  return !is_free;
}

void remove_step_folder(const fs::path& path) {
  const auto named = parse_step_folder(path);
  if (!named || named->is_partial) {
    remove_tree(path);
    return;
  }
  auto hidden = path;
  hidden += partial_suffix;
  if (fs::exists(hidden) && !has_live_writer(hidden))
    remove_tree(hidden);
  if (std::rename(path.c_str(), hidden.c_str()) != 0)
    throw_errno("rename", path);
  sync_to_disk(path.has_parent_path() ? path.parent_path() : ".");
  remove_tree(hidden);
}

} // namespace troupe::runtime::checkpoint
