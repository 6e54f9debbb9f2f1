// SPDX-License-Identifier: Apache-2.0
//
// Safetensors files: named tensors behind a JSON header. Read by mapping: a
// view points into the file, and no byte is touched before it is used.
// Numbers are little endian, as the format says. No LibTorch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::checkpoint {

enum class tensor_dtype : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
};

/// Returns the name in the format, as in "BF16".
std::string_view to_string(tensor_dtype dtype);

/// Returns the bytes of one element.
std::size_t bytes_of(tensor_dtype dtype);

/// One tensor, row-major. Read: `data` lives as long as the reader, and is
/// aligned as the file is, perhaps not at all. Written: the caller's memory.
struct tensor_view {
  std::string name;
  tensor_dtype dtype = tensor_dtype::f32;
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;

  [[nodiscard]] std::size_t num_elements() const {
    return bytes / bytes_of(dtype);
  }
};

/// The tensors of one file, or of a folder's model.safetensors or
/// model.safetensors.index.json.
class safetensors_reader {
public:
  /// Maps the files and checks their headers: length, JSON, dtypes, shapes,
  /// offsets within the file, without overlap or hole. The memory is private
  /// and writable (mapped_file).
  /// Errors: model_unreadable, naming file and tensor.
  static safetensors_reader open(const std::filesystem::path& file_or_folder);

  safetensors_reader(safetensors_reader&&) noexcept;
  safetensors_reader& operator=(safetensors_reader&&) noexcept;
  ~safetensors_reader();

  /// Returns all tensors, sorted by name.
  [[nodiscard]] const std::vector<tensor_view>& tensors() const;

  /// Returns the tensor, or null.
  [[nodiscard]] const tensor_view* find(std::string_view name) const;

  /// Returns the tensor. Errors: model_mismatch, naming file and tensor.
  [[nodiscard]] const tensor_view& at(std::string_view name) const;

private:
  struct mapping;
  safetensors_reader();

  std::filesystem::path source_;
  std::vector<mapping> mappings_;
  std::vector<tensor_view> tensors_;
};

/// Writes one file with the metadata {"format": "pt"}: to a neighbour first,
/// fsync, rename, fsync of the folder. The larger element types come first, so
/// that each tensor is aligned.
/// Errors: io_failed (path, errno); invalid_request (duplicate name, or bytes
/// that are not the shape's).
void write_safetensors(const std::filesystem::path& file,
                       std::span<const tensor_view> tensors);

// -- conversions; sizes of both sides are equal, `from` may be unaligned ------
// Narrowing rounds to nearest, ties to even; a NaN stays one.

void bf16_to_f32(const std::byte* from, std::span<float> to);
void f16_to_f32(const std::byte* from, std::span<float> to);
void f32_to_bf16(std::span<const float> from, std::span<std::uint16_t> to);
void f32_to_f16(std::span<const float> from, std::span<std::uint16_t> to);

/// Reads a tensor of f32, f16 or bf16 as f32.
/// Errors: model_unsupported, naming tensor and dtype.
void to_f32(const tensor_view& from, std::span<float> to);

} // namespace troupe::runtime::checkpoint
