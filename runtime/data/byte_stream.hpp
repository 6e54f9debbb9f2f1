// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a data file, decompressed. What a file is, its first bytes
// decide, not its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe::runtime::data {

class byte_stream {
public:
  virtual ~byte_stream() = default;

  /// Reads up to `size` bytes; 0: the end. Errors: data_unreadable with the
  /// path, as for a file that is cut off.
  virtual std::size_t read(char* to, std::size_t size) = 0;
};

enum class file_kind : std::uint8_t { plain, gzip, zstd };

struct opened_file {
  file_kind kind = file_kind::plain;
  std::unique_ptr<byte_stream> bytes;
};

/// Errors: data_unreadable (path and reason; folders, pipes and devices are no
/// files), unsupported (Parquet and other containers, with what to do).
opened_file open_data_file(const std::string& path);

/// "PATH: cannot be read: WHY; ...", as data_unreadable.
[[noreturn]] void throw_unreadable(const std::string& path,
                                   const std::string& why);

} // namespace troupe::runtime::data
