// SPDX-License-Identifier: Apache-2.0
#include "runtime/journal/journal_file.hpp"

#include "protocols/failure.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe::runtime::journal {

using protocols::errc;
using protocols::failure;

journal_name parse_journal_name(const std::filesystem::path& file) {
  if (file.extension() != ".jsonl")
    return {};
  const auto stem = file.stem().string();
  const auto dot = stem.rfind('.');
  if (dot == std::string::npos || stem.size() - dot - 1 < 6
      || !std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(dot) + 1,
                      stem.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return {stem, 0};
  return {stem.substr(0, dot), std::stoull(stem.substr(dot + 1))};
}

journal_file::journal_file(const std::filesystem::path& folder,
                           const std::string& name, std::uint64_t max_bytes,
                           std::size_t max_files)
  : path_(folder / (name + ".jsonl")), max_bytes_(max_bytes),
    max_files_(std::max<std::size_t>(max_files, 2)) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw failure{errc::io_failed, "cannot make the folder " + folder.string()
                                     + ": " + error.message()};
  for (const auto& entry : std::filesystem::directory_iterator{folder, error})
    if (const auto parts = parse_journal_name(entry.path());
        parts.process_file == name)
      next_index_ = std::max(next_index_, parts.index + 1);
  open();
  if (descriptor_ < 0)
    throw failure{errc::io_failed, "cannot open the journal " + path_.string()
                                     + ": " + std::strerror(errno)};
}

journal_file::~journal_file() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void journal_file::open() {
  descriptor_ =
    ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0)
    return;
  struct stat info {};
  ::fstat(descriptor_, &info);
  size_ = static_cast<std::uint64_t>(info.st_size);
  char last = '\n';
  if (size_ > 0 && ::pread(descriptor_, &last, 1, info.st_size - 1) == 1
      && last != '\n')
    append("\n");
}

std::filesystem::path journal_file::older(std::uint64_t index) const {
  char number[24];
  std::snprintf(number, sizeof number, ".%06llu",
                static_cast<unsigned long long>(index));
  return path_.parent_path() / (path_.stem().string() + number + ".jsonl");
}

int journal_file::append(std::string_view lines) {
  if (descriptor_ < 0)
    open();
  if (descriptor_ < 0)
    return errno;
  std::size_t done = 0;
  while (done < lines.size()) {
    const auto n =
      ::write(descriptor_, lines.data() + done, lines.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      const int why = n == 0 ? ENOSPC : errno;
      // No half line stays: a later one would be glued to it. A file that
      // cannot be cut (a device) keeps it, and the reader names it.
      if (done > 0 && ::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0)
        size_ += done;
      return why;
    }
    done += static_cast<std::size_t>(n);
  }
  size_ += done;
  return 0;
}

bool journal_file::rotate() {
  if (size_ < max_bytes_
      || ::rename(path_.c_str(), older(next_index_).c_str()) != 0)
    return false;
  ::close(descriptor_);
  if (next_index_ + 1 > max_files_)
    ::unlink(older(next_index_ + 1 - max_files_).c_str());
  ++next_index_;
  open();
  return true;
}

int journal_file::sync() {
  if (descriptor_ < 0 || ::fsync(descriptor_) == 0 || errno == EINVAL)
    return 0;
  return errno;
}

} // namespace troupe::runtime::journal
