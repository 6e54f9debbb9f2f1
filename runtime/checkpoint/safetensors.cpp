// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/safetensors.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/json_reason.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace troupe::runtime::checkpoint {

namespace fs = std::filesystem;
using json = nlohmann::json;
using protocols::errc;
using protocols::failure;

namespace {

struct dtype_row {
  tensor_dtype dtype;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<dtype_row, 13> dtype_rows{{
  {tensor_dtype::f64, "F64", 8},
  {tensor_dtype::f32, "F32", 4},
  {tensor_dtype::f16, "F16", 2},
  {tensor_dtype::bf16, "BF16", 2},
  {tensor_dtype::i64, "I64", 8},
  {tensor_dtype::i32, "I32", 4},
  {tensor_dtype::i16, "I16", 2},
  {tensor_dtype::i8, "I8", 1},
  {tensor_dtype::u64, "U64", 8},
  {tensor_dtype::u32, "U32", 4},
  {tensor_dtype::u16, "U16", 2},
  {tensor_dtype::u8, "U8", 1},
  {tensor_dtype::boolean, "BOOL", 1},
}};

constexpr std::size_t length_bytes = 8;                 ///< before the header
constexpr std::uint64_t max_header_bytes = 100'000'000; ///< as the format says

std::optional<tensor_dtype> dtype_of(std::string_view name) {
  for (const auto& row : dtype_rows)
    if (row.name == name)
      return row.dtype;
  return std::nullopt;
}

std::string dtype_names() {
  std::string out;
  for (const auto& row : dtype_rows)
    out += (out.empty() ? "" : ", ") + std::string{row.name};
  return out;
}

[[noreturn]] void unreadable(const fs::path& file, const std::string& reason) {
  throw failure{errc::model_unreadable, file.string() + ": " + reason};
}

/// Returns elements * bytes of one, or nothing past 64 bits.
std::optional<std::uint64_t> size_of(const std::vector<std::int64_t>& shape,
                                     tensor_dtype dtype) {
  std::uint64_t size = bytes_of(dtype);
  for (auto extent : shape)
    if (extent < 0
        || __builtin_mul_overflow(size, static_cast<std::uint64_t>(extent),
                                  &size))
      return std::nullopt;
  return size;
}

tensor_view parse_tensor(const fs::path& file, const std::string& name,
                         const json& entry, std::span<const std::byte> data) {
  const auto refuse = [&](const std::string& reason) {
    unreadable(file, "tensor " + name + " " + reason);
  };
  tensor_view out;
  out.name = name;
  if (!entry.is_object() || !entry.contains("dtype")
      || !entry["dtype"].is_string() || !entry.contains("shape")
      || !entry["shape"].is_array() || !entry.contains("data_offsets"))
    refuse("needs dtype, shape and data_offsets");
  const auto& dtype_name = entry["dtype"].get_ref<const std::string&>();
  const auto dtype = dtype_of(dtype_name);
  if (!dtype)
    refuse("has dtype " + dtype_name + "; known are " + dtype_names());
  out.dtype = *dtype;
  for (const auto& extent : entry["shape"]) {
    if (!extent.is_number_unsigned()
        || extent.get<std::uint64_t>()
             > std::numeric_limits<std::int64_t>::max())
      refuse("has the shape " + entry["shape"].dump()
             + "; extents are integers from 0");
    out.shape.push_back(extent.get<std::int64_t>());
  }
  const auto& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2
      || !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    refuse("has data_offsets " + offsets.dump() + ", not [begin, end]");
  const auto begin = offsets[0].get<std::uint64_t>();
  const auto end = offsets[1].get<std::uint64_t>();
  if (begin > end || end > data.size())
    refuse("has data_offsets " + offsets.dump() + ", but the data has "
           + std::to_string(data.size()) + " bytes");
  if (size_of(out.shape, *dtype) != end - begin)
    refuse("of dtype " + dtype_name + " and shape " + entry["shape"].dump()
           + " does not fill its " + std::to_string(end - begin) + " bytes");
  out.data = data.data() + begin;
  out.bytes = end - begin;
  return out;
}

/// Refuses names that occur twice, which a plain parse would merge.
json parse_header(const fs::path& file, std::string_view text) {
  std::set<std::string, std::less<>> seen;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth == 1 && event == json::parse_event_t::key
        && !seen.insert(parsed.get<std::string>()).second)
      unreadable(file, "tensor " + parsed.get<std::string>()
                         + " is in the header twice");
    return true;
  };
  try {
    auto header = json::parse(text, watch);
    if (!header.is_object())
      unreadable(file, "the header is no JSON object");
    return header;
  } catch (const json::exception& error) {
    unreadable(file, "the header is no JSON: " + json_reason(error));
  }
}

std::vector<tensor_view> parse_file(const fs::path& file,
                                    std::span<const std::byte> bytes) {
  std::uint64_t header_bytes = 0;
  if (bytes.size() < length_bytes)
    unreadable(file, "has " + std::to_string(bytes.size())
                       + " bytes, too few for a safetensors file");
  std::memcpy(&header_bytes, bytes.data(), length_bytes);
  if (header_bytes > max_header_bytes
      || header_bytes > bytes.size() - length_bytes)
    unreadable(file, "announces a header of " + std::to_string(header_bytes)
                       + " bytes, but has " + std::to_string(bytes.size())
                       + " in all");
  const std::string_view text{
    reinterpret_cast<const char*>(bytes.data()) + length_bytes, header_bytes};
  const auto header = parse_header(file, text);
  const auto data = bytes.subspan(length_bytes + header_bytes);
  std::vector<tensor_view> out;
  for (const auto& [name, entry] : header.items())
    if (name != "__metadata__")
      out.push_back(parse_tensor(file, name, entry, data));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::pair{a.data, a.bytes} < std::pair{b.data, b.bytes};
  });
  const auto* expected = data.data();
  const tensor_view* before = nullptr;
  for (const auto& tensor : out) {
    if (tensor.data != expected)
      unreadable(file, "tensor " + tensor.name
                         + (tensor.data < expected
                              ? " overlaps with tensor " + before->name
                              : " leaves a hole before it"));
    expected += tensor.bytes;
    before = &tensor;
  }
  if (expected != data.data() + data.size())
    unreadable(file, std::to_string(data.data() + data.size() - expected)
                       + " bytes at the end belong to no tensor");
  return out;
}

/// Returns tensor name -> file name.
std::map<std::string, std::string> read_index(const fs::path& file) {
  const mapped_file mapped{file};
  try {
    const auto parsed = json::parse(mapped.text());
    std::map<std::string, std::string> out;
    for (const auto& [name, shard] : parsed.at("weight_map").items()) {
      const auto part = shard.get<std::string>();
      if (part.empty() || part == ".." || part.find('/') != part.npos)
        unreadable(file, "tensor " + name + " lies in \"" + part
                           + "\"; a file of the same folder is expected");
      out.emplace(name, part);
    }
    return out;
  } catch (const json::exception& error) {
    unreadable(file, "no index with a weight_map: " + json_reason(error));
  }
}

} // namespace

std::string_view to_string(tensor_dtype dtype) {
  return dtype_rows[static_cast<std::size_t>(dtype)].name;
}

std::size_t bytes_of(tensor_dtype dtype) {
  return dtype_rows[static_cast<std::size_t>(dtype)].bytes;
}

struct safetensors_reader::mapping {
  mapped_file file;
};

safetensors_reader::safetensors_reader() = default;
safetensors_reader::safetensors_reader(safetensors_reader&&) noexcept = default;
safetensors_reader&
safetensors_reader::operator=(safetensors_reader&&) noexcept = default;
safetensors_reader::~safetensors_reader() = default;

safetensors_reader safetensors_reader::open(const fs::path& file_or_folder) {
  safetensors_reader out;
  out.source_ = file_or_folder;
  const auto add = [&](const fs::path& file) {
    try {
      auto& mapped = out.mappings_.emplace_back(mapping{mapped_file{file}});
      return parse_file(file, mapped.file.bytes());
    } catch (const failure& error) {
      if (error.code() != errc::io_failed)
        throw;
      throw failure{errc::model_unreadable, error.what()};
    }
  };
  const auto single = file_or_folder / "model.safetensors";
  const auto index = file_or_folder / "model.safetensors.index.json";
  if (!fs::is_directory(file_or_folder)) {
    out.tensors_ = add(file_or_folder);
  } else if (fs::exists(single)) {
    out.tensors_ = add(single);
  } else if (fs::exists(index)) {
    const auto where = read_index(index);
    std::map<std::string, std::map<std::string, tensor_view>> shards;
    for (const auto& [name, part] : where) {
      auto [shard, is_new] = shards.try_emplace(part);
      if (is_new)
        for (auto& tensor : add(file_or_folder / part))
          shard->second.emplace(tensor.name, tensor);
      const auto found = shard->second.find(name);
      if (found == shard->second.end())
        unreadable(index, "tensor " + name + " is not in " + part);
      out.tensors_.push_back(found->second);
    }
  } else {
    unreadable(file_or_folder, "neither model.safetensors nor "
                               "model.safetensors.index.json is there");
  }
  std::sort(out.tensors_.begin(), out.tensors_.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

const std::vector<tensor_view>& safetensors_reader::tensors() const {
  return tensors_;
}

const tensor_view* safetensors_reader::find(std::string_view name) const {
  const auto found = std::lower_bound(
    tensors_.begin(), tensors_.end(), name,
    [](const tensor_view& a, std::string_view b) { return a.name < b; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

const tensor_view& safetensors_reader::at(std::string_view name) const {
  if (const auto* found = find(name))
    return *found;
  throw failure{errc::model_mismatch,
                source_.string() + " has no tensor " + std::string{name}};
}

} // namespace troupe::runtime::checkpoint
