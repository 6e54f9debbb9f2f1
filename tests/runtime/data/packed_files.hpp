// SPDX-License-Identifier: Apache-2.0
//
// Compressed data for tests.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe::tests {

/// One member of a gzip file.
inline std::string gzip_of(std::string_view text) {
  z_stream stream{};
  if (::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY)
      != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string out(::deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const auto code = ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (code != Z_STREAM_END)
    throw std::runtime_error("deflate");
  return out;
}

/// One frame of a zstd file, with a checksum as the command writes it.
inline std::string zstd_of(std::string_view text) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&::ZSTD_freeCCtx)> context{
    ::ZSTD_createCCtx(), &::ZSTD_freeCCtx};
  ::ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress2(context.get(), out.data(), out.size(),
                              text.data(), text.size()));
  return out;
}

} // namespace troupe::tests
