// SPDX-License-Identifier: Apache-2.0
#include "runtime/experience/row_codec.hpp"

#include "protocols/failure.hpp"
#include "runtime/experience/group_codec.hpp"

#include <cstring>

namespace troupe::runtime::experience {

namespace {

using protocols::errc;
using protocols::failure;

void put(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto old_size = to.size();
  to.resize(old_size + bytes);
  std::memcpy(to.data() + old_size, from, bytes);
}

void put_number(std::vector<std::byte>& to, std::uint64_t value) {
  put(to, &value, sizeof value);
}

/// Reads from the front of `from`, never past its end.
class reader {
public:
  explicit reader(std::span<const std::byte> from) : rest_(from) {}

  std::span<const std::byte> take(std::uint64_t bytes) {
    if (bytes > rest_.size())
      throw failure(errc::frame_corrupt,
                    "rows: " + std::to_string(bytes) + " bytes announced, "
                      + std::to_string(rest_.size()) + " are left");
    const auto out = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return out;
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

private:
  std::span<const std::byte> rest_;
};

} // namespace

std::vector<std::byte> encode_row_request(const row_request& request) {
  std::vector<std::byte> out;
  put_number(out, request.split.size());
  put(out, request.split.data(), request.split.size());
  for (const auto& id : request.ids) {
    const std::uint32_t parts[]{id.data_pass, id.position, id.attempt};
    put(out, parts, sizeof parts);
  }
  return out;
}

row_request decode_row_request(std::span<const std::byte> bytes) {
  reader in{bytes};
  row_request out;
  const auto split = in.take(in.number());
  out.split.assign(reinterpret_cast<const char*>(split.data()), split.size());
  while (!in.at_end()) {
    std::uint32_t parts[3];
    std::memcpy(parts, in.take(sizeof parts).data(), sizeof parts);
    out.ids.push_back({parts[0], parts[1], parts[2]});
  }
  return out;
}

std::vector<std::byte> encode_rows(const std::vector<rollout_group>& rows) {
  std::vector<std::byte> out;
  for (const auto& row : rows) {
    const auto bytes = encode_group(row);
    put_number(out, bytes.size());
    put(out, bytes.data(), bytes.size());
  }
  return out;
}

std::vector<rollout_group> decode_rows(std::span<const std::byte> bytes) {
  reader in{bytes};
  std::vector<rollout_group> out;
  while (!in.at_end())
    out.push_back(decode_group(in.take(in.number())));
  return out;
}

} // namespace troupe::runtime::experience
