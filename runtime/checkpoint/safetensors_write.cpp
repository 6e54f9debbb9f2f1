// SPDX-License-Identifier: Apache-2.0
#include "protocols/failure.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/checkpoint/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <set>

#include <fcntl.h>
#include <unistd.h>

namespace troupe::runtime::checkpoint {

namespace {

constexpr std::size_t alignment = 8; ///< of the data behind the header

void require_sound(std::span<const tensor_view> tensors) {
  std::set<std::string_view> names;
  for (const auto& tensor : tensors) {
    auto bytes = bytes_of(tensor.dtype);
    for (auto extent : tensor.shape)
      bytes *= static_cast<std::size_t>(extent);
    const auto refuse = [&](const std::string& reason) {
      throw protocols::failure{protocols::errc::invalid_request,
                               "cannot save tensor " + tensor.name + ": "
                                 + reason};
    };
    if (bytes != tensor.bytes)
      refuse("its shape needs " + std::to_string(bytes) + " bytes, not "
             + std::to_string(tensor.bytes));
    if (!names.insert(tensor.name).second)
      refuse("the name is used twice");
  }
}

} // namespace

void write_safetensors(const std::filesystem::path& file,
                       std::span<const tensor_view> tensors) {
  require_sound(tensors);
  std::vector<const tensor_view*> order;
  for (const auto& tensor : tensors)
    order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return bytes_of(a->dtype) > bytes_of(b->dtype);
  });
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  std::size_t end = 0;
  for (const auto* tensor : order) {
    const auto begin = end;
    end += tensor->bytes;
    header[tensor->name] = {{"dtype", to_string(tensor->dtype)},
                            {"shape", tensor->shape},
                            {"data_offsets", {begin, end}}};
  }
  auto text = header.dump();
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  const auto length = static_cast<std::uint64_t>(text.size());

  auto neighbour = file;
  neighbour += ".new";
  {
    const file_handle to{neighbour, O_WRONLY | O_CREAT | O_TRUNC};
    write_all(to, std::as_bytes(std::span{&length, 1}), neighbour);
    write_all(to, std::as_bytes(std::span{text}), neighbour);
    for (const auto* tensor : order)
      write_all(to, {tensor->data, tensor->bytes}, neighbour);
    if (::fsync(to.fd()) != 0)
      throw_errno("fsync", neighbour);
  }
  if (std::rename(neighbour.c_str(), file.c_str()) != 0)
    throw_errno("rename", neighbour);
  sync_to_disk(file.has_parent_path() ? file.parent_path() : ".");
}

} // namespace troupe::runtime::checkpoint
