// SPDX-License-Identifier: Apache-2.0
#include "runtime/experience/group_codec.hpp"

#include "protocols/failure.hpp"

#include <bit>
#include <cstring>
#include <type_traits>

namespace troupe::runtime::experience {

namespace {

static_assert(std::endian::native == std::endian::little,
              "columns are copied as they are");

constexpr std::uint32_t key_magic = 0x314b4754;   // "TGK1"
constexpr std::uint32_t group_magic = 0x31524754; // "TGR1"
constexpr std::uint32_t texts_magic = 0x31545454; // "TTT1"

class writer {
public:
  template <class T>
  void put(T value) {
    put_bytes(&value, sizeof(value));
  }

  void put_id(const protocols::group_id& id, protocols::job_epoch epoch) {
    put(id.data_pass);
    put(id.position);
    put(id.attempt);
    put(epoch);
  }

  /// A count, then the entries of a vector or string.
  template <class Column>
  void put_column(const Column& column) {
    put(static_cast<std::uint64_t>(column.size()));
    put_bytes(column.data(),
              column.size() * sizeof(typename Column::value_type));
  }

  std::vector<std::byte> take() { return std::move(out_); }

  void reserve(std::size_t size) { out_.reserve(size); }

private:
  void put_bytes(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), first, first + size);
  }

  std::vector<std::byte> out_;
};

class reader {
public:
  explicit reader(std::span<const std::byte> in, std::uint32_t magic)
    : in_(in) {
    auto found = get<std::uint32_t>("magic");
    if (found != magic)
      refuse("magic",
             std::to_string(found) + " is not " + std::to_string(magic));
  }

  template <class T>
  T get(const char* field) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (in_.size() - at_ < sizeof(T))
      refuse(field, "the bytes end");
    T value;
    std::memcpy(&value, in_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  /// A count of things that take at least so many bytes each.
  std::size_t get_count(const char* field, std::size_t min_bytes) {
    auto count = get<std::uint64_t>(field);
    if (count > (in_.size() - at_) / min_bytes)
      refuse(field, "a count of " + std::to_string(count) + " with "
                      + std::to_string(in_.size() - at_) + " bytes left");
    return static_cast<std::size_t>(count);
  }

  template <class Column>
  Column get_column(const char* field) {
    using value_type = typename Column::value_type;
    Column out;
    out.resize(get_count(field, sizeof(value_type)));
    if (!out.empty())
      std::memcpy(out.data(), in_.data() + at_,
                  out.size() * sizeof(value_type));
    at_ += out.size() * sizeof(value_type);
    return out;
  }

  void get_id(protocols::group_id& id, protocols::job_epoch& epoch) {
    id.data_pass = get<std::uint32_t>("data_pass");
    id.position = get<std::uint32_t>("position");
    id.attempt = get<std::uint32_t>("attempt");
    epoch = get<protocols::job_epoch>("epoch");
  }

  [[noreturn]] void refuse(const char* field, const std::string& why) const {
    throw protocols::failure{protocols::errc::frame_corrupt,
                             std::string{"rollout group: field '"} + field
                               + "' before byte " + std::to_string(at_) + ": "
                               + why};
  }

  void require_end() const {
    if (at_ != in_.size())
      refuse("end", std::to_string(in_.size() - at_) + " bytes too many");
  }

private:
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
};

/// Bytes of an encoded sample without entries: four counts, two versions
/// and the finish reason.
constexpr std::size_t min_sample_bytes = 6 * 8 + 1;

void put_sample(writer& out, const sample& s) {
  out.put_column(s.completion_ids);
  out.put_column(s.rollout_logprobs);
  out.put_column(s.filtered_rollout_logprobs);
  out.put(s.min_policy_version);
  out.put(s.max_policy_version);
  out.put(static_cast<std::uint8_t>(s.finish));
  out.put_column(s.text);
}

sample get_sample(reader& in) {
  sample s;
  s.completion_ids = in.get_column<std::vector<std::int32_t>>("completion_ids");
  s.rollout_logprobs = in.get_column<std::vector<float>>("rollout_logprobs");
  s.filtered_rollout_logprobs =
    in.get_column<std::vector<float>>("filtered_rollout_logprobs");
  if (s.rollout_logprobs.size() != s.completion_ids.size()
      || s.filtered_rollout_logprobs.size() != s.completion_ids.size())
    in.refuse("rollout_logprobs",
              std::to_string(s.rollout_logprobs.size()) + " and "
                + std::to_string(s.filtered_rollout_logprobs.size()) + " for "
                + std::to_string(s.completion_ids.size()) + " tokens");
  s.min_policy_version =
    in.get<protocols::policy_version>("min_policy_version");
  s.max_policy_version =
    in.get<protocols::policy_version>("max_policy_version");
  auto finish = in.get<std::uint8_t>("finish");
  if (finish > static_cast<std::uint8_t>(finish_reason::aborted))
    in.refuse("finish", std::to_string(finish) + " is none");
  s.finish = static_cast<finish_reason>(finish);
  s.text = in.get_column<std::string>("text");
  return s;
}

} // namespace

std::size_t num_bytes(const rollout_group& group) {
  std::size_t size =
    sizeof(group) + group.prompt_ids.size() * sizeof(std::int32_t);
  for (const auto& s : group.samples)
    size += sizeof(s) + s.completion_ids.size() * sizeof(std::int32_t)
            + s.rollout_logprobs.size() * sizeof(float)
            + s.filtered_rollout_logprobs.size() * sizeof(float)
            + s.text.size();
  return size;
}

std::vector<std::byte> encode_key(const group_key& key) {
  writer out;
  out.put(key_magic);
  out.put_id(key.id, key.epoch);
  return out.take();
}

group_key decode_key(std::span<const std::byte> bytes) {
  reader in{bytes, key_magic};
  group_key key;
  in.get_id(key.id, key.epoch);
  in.require_end();
  return key;
}

std::vector<std::byte> encode_group(const rollout_group& group) {
  writer out;
  out.reserve(num_bytes(group));
  out.put(group_magic);
  out.put_id(group.id, group.epoch);
  out.put_column(group.prompt_ids);
  out.put(static_cast<std::uint64_t>(group.samples.size()));
  for (const auto& s : group.samples)
    put_sample(out, s);
  return out.take();
}

rollout_group decode_group(std::span<const std::byte> bytes) {
  reader in{bytes, group_magic};
  rollout_group group;
  in.get_id(group.id, group.epoch);
  group.prompt_ids = in.get_column<std::vector<std::int32_t>>("prompt_ids");
  auto count = in.get_count("samples", min_sample_bytes);
  group.samples.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    group.samples.push_back(get_sample(in));
  in.require_end();
  return group;
}

std::vector<std::byte> encode_texts(const rollout_group& group) {
  writer out;
  out.put(texts_magic);
  out.put(static_cast<std::uint64_t>(group.samples.size()));
  for (const auto& s : group.samples)
    out.put_column(s.text);
  return out.take();
}

std::vector<std::string> decode_texts(std::span<const std::byte> bytes) {
  reader in{bytes, texts_magic};
  std::vector<std::string> texts(in.get_count("texts", sizeof(std::uint64_t)));
  for (auto& text : texts)
    text = in.get_column<std::string>("text");
  in.require_end();
  return texts;
}

} // namespace troupe::runtime::experience
