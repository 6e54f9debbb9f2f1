// SPDX-License-Identifier: Apache-2.0
#include "runtime/outputs/tensorboard_writer.hpp"

#include "runtime/checkpoint/checksum.hpp"
#include "runtime/checkpoint/file_io.hpp"

#include <bit>
#include <chrono>
#include <span>
#include <utility>

#include <unistd.h>

namespace troupe::runtime::outputs {

namespace {

// -- protobuf wire format -----------------------------------------------------

enum class wire_type : std::uint8_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  fixed32 = 5
};

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

template <class Word>
void put_little_endian(std::string& out, Word value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    out += static_cast<char>((value >> (8 * i)) & 0xff);
}

void put_tag(std::string& out, unsigned field, wire_type type) {
  put_varint(out, (std::uint64_t{field} << 3) | static_cast<unsigned>(type));
}

void put_bytes(std::string& out, unsigned field, std::string_view value) {
  put_tag(out, field, wire_type::bytes);
  put_varint(out, value.size());
  out += value;
}

void put_int(std::string& out, unsigned field, std::int64_t value) {
  put_tag(out, field, wire_type::varint);
  put_varint(out, static_cast<std::uint64_t>(value));
}

void put_double(std::string& out, unsigned field, double value) {
  put_tag(out, field, wire_type::fixed64);
  put_little_endian(out, std::bit_cast<std::uint64_t>(value));
}

void put_float(std::string& out, unsigned field, float value) {
  put_tag(out, field, wire_type::fixed32);
  put_little_endian(out, std::bit_cast<std::uint32_t>(value));
}

// -- Event, Summary.Value, SessionLog -----------------------------------------

namespace event_field {
constexpr unsigned wall_time = 1, step = 2, file_version = 3, summary = 5,
                   session_log = 7;
} // namespace event_field

constexpr unsigned summary_value = 1, value_tag = 1, value_simple = 2;
constexpr unsigned session_status = 1, session_start = 1;

std::string event_at(double wall_time, std::int64_t step) {
  std::string out;
  put_double(out, event_field::wall_time, wall_time);
  put_int(out, event_field::step, step);
  return out;
}

/// TFRecord's mask: a checksum of data that holds checksums is weak.
std::uint32_t masked_crc(std::string_view bytes) {
  const auto crc = checkpoint::crc32c(std::as_bytes(std::span{bytes}));
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

std::string file_name(double wall_time) {
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  // Readers take files in the order of their names: whole seconds first.
  return "events.out.tfevents."
         + std::to_string(static_cast<std::int64_t>(wall_time)) + '.' + host
         + '.' + std::to_string(::getpid());
}

} // namespace

tensorboard_writer::tensorboard_writer(const std::filesystem::path& directory,
                                       std::optional<std::int64_t> resumed_step,
                                       wall_clock clock)
  : clock_(std::move(clock)) {
  const auto now = clock_();
  path_ = directory / file_name(now);
  out_.open(path_, std::ios::binary | std::ios::app);
  auto version = event_at(now, 0);
  put_bytes(version, event_field::file_version, "brain.Event:2");
  write_event(version);
  if (resumed_step) {
    std::string log;
    put_int(log, session_status, session_start);
    auto start = event_at(now, *resumed_step + 1);
    put_bytes(start, event_field::session_log, log);
    write_event(start);
  }
}

double tensorboard_writer::system_seconds() {
  return std::chrono::duration<double>(
           std::chrono::system_clock::now().time_since_epoch())
    .count();
}

void tensorboard_writer::write(const metric_record& record) {
  std::string summary;
  for (const auto& one : record.metrics) {
    std::string value;
    put_bytes(value, value_tag, one.key);
    put_float(value, value_simple, static_cast<float>(one.value));
    put_bytes(summary, summary_value, value);
  }
  auto event = event_at(clock_(), record.step);
  put_bytes(event, event_field::summary, summary);
  write_event(event);
}

void tensorboard_writer::write_event(std::string_view event) {
  std::string length;
  put_little_endian(length, std::uint64_t{event.size()});
  std::string framed = length;
  put_little_endian(framed, masked_crc(length));
  framed += event;
  put_little_endian(framed, masked_crc(event));
  out_.write(framed.data(), static_cast<std::streamsize>(framed.size()));
  if (!out_.flush())
    checkpoint::throw_errno("write", path_);
}

} // namespace troupe::runtime::outputs
