// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/byte_stream.hpp"

#include "protocols/failure.hpp"
#include "runtime/process/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace troupe::runtime::data {

using process::unique_fd;
using protocols::errc;
using protocols::failure;
using namespace std::string_view_literals;

namespace {

std::string errno_text() {
  return std::generic_category().message(errno);
}

std::size_t read_some(int fd, const std::string& path, char* to,
                      std::size_t size) {
  for (;;) {
    const auto got = ::read(fd, to, size);
    if (got >= 0)
      return static_cast<std::size_t>(got);
    if (errno != EINTR)
      throw_unreadable(path, errno_text());
  }
}

class plain_stream final : public byte_stream {
public:
  plain_stream(unique_fd fd, std::string path)
    : fd_(std::move(fd)), path_(std::move(path)) {}

  std::size_t read(char* to, std::size_t size) override {
    return read_some(fd_.get(), path_, to, size);
  }

private:
  unique_fd fd_;
  std::string path_;
};

/// Members of a gzip file, one after the other.
class gzip_stream final : public byte_stream {
public:
  gzip_stream(unique_fd fd, std::string path) : path_(std::move(path)) {
    file_ = ::gzdopen(fd.get(), "rb");
    if (file_ == nullptr)
      throw_unreadable(path_, "no memory for gzip");
    (void)fd.release();
    ::gzbuffer(file_, 1U << 18);
  }
  gzip_stream(const gzip_stream&) = delete;
  gzip_stream& operator=(const gzip_stream&) = delete;
  ~gzip_stream() override { ::gzclose_r(file_); }

  std::size_t read(char* to, std::size_t size) override {
    const auto got = ::gzread(file_, to, static_cast<unsigned>(size));
    int code = Z_OK;
    std::string_view why = ::gzerror(file_, &code);
    if (got < 0 || (got == 0 && code == Z_BUF_ERROR)) {
      if (const auto name = why.find(": "); name != std::string_view::npos)
        why.remove_prefix(name + 2); // as zlib calls a descriptor
      throw_unreadable(path_, code == Z_ERRNO ? errno_text()
                                              : "gzip: " + std::string{why});
    }
    return static_cast<std::size_t>(got);
  }

private:
  std::string path_;
  gzFile file_ = nullptr;
};

/// Frames of a zstd file, one after the other.
class zstd_stream final : public byte_stream {
public:
  zstd_stream(unique_fd fd, std::string path)
    : fd_(std::move(fd)), path_(std::move(path)),
      context_(::ZSTD_createDCtx(), &::ZSTD_freeDCtx),
      block_(::ZSTD_DStreamInSize()) {}

  std::size_t read(char* to, std::size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size) {
        in_ = {block_.data(),
               read_some(fd_.get(), path_, block_.data(), block_.size()), 0};
        if (in_.size == 0 && wanted_ != 0)
          throw_unreadable(path_, "zstd: the last frame is cut off");
        if (in_.size == 0)
          return 0;
      }
      wanted_ = ::ZSTD_decompressStream(context_.get(), &out, &in_);
      if (::ZSTD_isError(wanted_) != 0)
        throw_unreadable(path_,
                         std::string{"zstd: "} + ::ZSTD_getErrorName(wanted_));
    }
    return out.pos;
  }

private:
  unique_fd fd_;
  std::string path_;
  std::unique_ptr<ZSTD_DCtx, decltype(&::ZSTD_freeDCtx)> context_;
  std::vector<char> block_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  std::size_t wanted_ = 0; ///< 0: a frame has ended
};

struct other_format {
  std::string_view start; ///< first bytes
  const char* name;
  const char* remedy;
};

constexpr std::array other_formats{
  other_format{"PAR1"sv, "Parquet",
               "python3 -c 'import pandas, sys; pandas.read_parquet("
               "sys.argv[1]).to_json(sys.argv[2], orient=\"records\", "
               "lines=True)' IN.parquet OUT.jsonl.gz"},
  other_format{"ARROW1"sv, "Arrow",
               "the library `datasets`: Dataset.from_file(IN).to_json(OUT)"},
  other_format{"BZh"sv, "bzip2", "bunzip2"},
  other_format{"\xfd"
               "7zXZ"sv,
               "xz", "unxz"},
  other_format{"PK\x03\x04"sv, "zip", "unzip"},
};

void refuse_other_formats(const std::string& path, std::string_view start) {
  for (const auto& format : other_formats)
    if (start.starts_with(format.start))
      throw failure{errc::unsupported,
                    path + ": is " + format.name
                      + "; allowed: JSONL, plain or compressed with gzip or "
                        "zstd; it converts with "
                      + format.remedy};
}

/// A frame, or one to be skipped, as pzstd puts them first.
/// Source: RFC 8878, 3.1.
bool is_zstd(std::string_view start) {
  return start.starts_with("\x28\xb5\x2f\xfd"sv)
         || (start.size() >= 4 && (start[0] & '\xf0') == '\x50'
             && start.substr(1).starts_with("\x2a\x4d\x18"sv));
}

} // namespace

opened_file open_data_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    // A pipe may never be written to, a device never ends.
    throw_unreadable(path, S_ISDIR(status.st_mode)
                             ? "it is a folder"
                             : "it is a pipe or a device, no file");
  unique_fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd)
    throw_unreadable(path, errno_text());
  std::array<char, 8> first{};
  const auto got = ::pread(fd.get(), first.data(), first.size(), 0);
  if (got < 0)
    throw_unreadable(path, errno_text());
  const std::string_view start{first.data(), static_cast<std::size_t>(got)};
  refuse_other_formats(path, start);
  if (start.starts_with("\x1f\x8b"sv))
    return {file_kind::gzip,
            std::make_unique<gzip_stream>(std::move(fd), path)};
  if (is_zstd(start))
    return {file_kind::zstd,
            std::make_unique<zstd_stream>(std::move(fd), path)};
  return {file_kind::plain,
          std::make_unique<plain_stream>(std::move(fd), path)};
}

void throw_unreadable(const std::string& path, const std::string& why) {
  throw failure{errc::data_unreadable,
                path + ": cannot be read: " + why
                  + "; data.*.file names a JSONL file, plain or compressed "
                    "with gzip or zstd, a folder of them, or a pattern"};
}

} // namespace troupe::runtime::data
