// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/row_store.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/data/byte_stream.hpp"
#include "runtime/data/line_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace troupe::runtime::data {

using protocols::errc;
using protocols::failure;

namespace {

constexpr std::size_t spool_block = std::size_t{1} << 20;
constexpr std::size_t max_files = std::size_t{1} << 16;

} // namespace

void row_store::open(const std::string& path) {
  if (files_.size() == max_files)
    throw failure{errc::data_unreadable,
                  path + ": is one file too many; allowed: "
                    + std::to_string(max_files) + " in one source; join some"};
  process::unique_fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd)
    throw_unreadable(path, std::generic_category().message(errno));
  files_.push_back({std::move(fd), path});
}

std::uint64_t row_store::place(std::size_t file, std::uint64_t offset) const {
  if (offset >> offset_bits != 0)
    throw failure{errc::data_unreadable,
                  files_[file].path + ": has more than 256 TiB; cut it"};
  return (std::uint64_t{file} << offset_bits) | offset;
}

void row_store::refer_to(std::uint64_t offset) {
  places_.push_back(place(files_.size() - 1, offset));
}

void row_store::spool(std::string_view line) {
  if (spool_file_ == SIZE_MAX) {
    auto name = (spool_folder_ / "rows-XXXXXX").string();
    process::unique_fd fd{::mkostemp(name.data(), O_CLOEXEC)};
    if (!fd)
      checkpoint::throw_errno("make", name);
    ::unlink(name.c_str());
    spool_file_ = files_.size();
    files_.push_back(
      {std::move(fd), spool_folder_.string() + ": the file of unpacked rows"});
  }
  places_.push_back(place(spool_file_, spool_size_));
  unwritten_ += line;
  unwritten_ += '\n';
  spool_size_ += line.size() + 1;
  if (unwritten_.size() >= spool_block)
    flush();
}

void row_store::flush() {
  for (std::string_view left = unwritten_; !left.empty();) {
    const auto n =
      ::write(files_[spool_file_].fd.get(), left.data(), left.size());
    if (n < 0 && errno != EINTR)
      checkpoint::throw_errno("write", files_[spool_file_].path);
    left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  unwritten_.clear();
}

void row_store::finish() {
  flush();
  unwritten_.shrink_to_fit();
  places_.shrink_to_fit();
}

const std::string& row_store::file_of(std::size_t index) const {
  return files_[places_[index] >> offset_bits].path;
}

std::string row_store::line(std::size_t index) const {
  const auto& file = files_[places_[index] >> offset_bits];
  const auto begin = places_[index] & ((std::uint64_t{1} << offset_bits) - 1);
  std::string out;
  for (std::size_t block = 4096;; block = out.size()) {
    const auto old = out.size();
    out.resize(old + block);
    const auto got = ::pread(file.fd.get(), out.data() + old, block,
                             static_cast<off_t>(begin + old));
    if (got < 0)
      throw_unreadable(file.path, std::generic_category().message(errno));
    out.resize(old + static_cast<std::size_t>(got));
    if (const auto end = out.find('\n', old); end != std::string::npos) {
      out.resize(end);
      return out;
    }
    if (got == 0 && !out.empty())
      return out;
    if (got == 0 || out.size() > max_line_bytes)
      throw_unreadable(file.path,
                       "it was changed while the job runs: no row is left at "
                       "byte "
                         + std::to_string(begin));
  }
}

} // namespace troupe::runtime::data
