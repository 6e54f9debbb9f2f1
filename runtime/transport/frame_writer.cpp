// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/frame_writer.hpp"

#include "runtime/checkpoint/checksum.hpp"

#include <algorithm>
#include <array>

namespace troupe::runtime::transport {

namespace {

/// A peer that leaves so many unread does not read at all.
constexpr std::size_t max_control_frames = 1024;

} // namespace

frame_writer::frame_writer(stream_socket& socket, std::uint64_t run_hash,
                           std::uint32_t chunk_bytes,
                           std::function<void(const std::string&)> on_failed)
  : socket_(socket), run_hash_(run_hash),
    chunk_bytes_(std::clamp(chunk_bytes, 1u, max_chunk_bytes)),
    on_failed_(std::move(on_failed)) {}

frame_writer::frame
frame_writer::make_frame(frame_header header,
                         std::shared_ptr<const byte_vector> payload,
                         std::size_t offset, std::size_t length) const {
  header.run_hash = run_hash_;
  header.length = static_cast<std::uint32_t>(length);
  header.payload_crc =
    checkpoint::crc32c(std::span{*payload}.subspan(offset, length));
  return {encode(header), std::move(payload), offset, length};
}

void frame_writer::send(frame_header header, byte_vector payload) {
  if (control_.size() >= max_control_frames)
    return on_failed_("it leaves " + std::to_string(max_control_frames)
                      + " frames unread");
  auto length = payload.size();
  control_.push_back(
    make_frame(header, std::make_shared<const byte_vector>(std::move(payload)),
               0, length));
  write_next();
}

void frame_writer::start(std::uint64_t transfer_id, std::uint32_t kind,
                         byte_vector payload, std::uint64_t credits) {
  transfers_.push_back({transfer_id, kind,
                        std::make_shared<const byte_vector>(std::move(payload)),
                        0, 0, credits});
  write_next();
}

void frame_writer::add_credits(std::uint64_t transfer_id,
                               std::uint64_t credits) {
  for (auto& t : transfers_)
    if (t.id == transfer_id)
      t.credits += std::min<std::uint64_t>(credits, max_control_frames);
  write_next();
}

void frame_writer::cancel(std::uint64_t transfer_id) {
  std::erase_if(transfers_,
                [&](const transfer& t) { return t.id == transfer_id; });
}

bool frame_writer::has(std::uint64_t transfer_id) const {
  return std::any_of(transfers_.begin(), transfers_.end(),
                     [&](const transfer& t) { return t.id == transfer_id; });
}

void frame_writer::clear() {
  control_.clear();
  transfers_.clear();
}

/// Cuts the next chunk of the first transfer with credit, which then goes to
/// the end of the line.
bool frame_writer::take_chunk(frame& out) {
  auto found = std::find_if(transfers_.begin(), transfers_.end(),
                            [](const transfer& t) { return t.credits > 0; });
  if (found == transfers_.end())
    return false;
  auto t = std::move(*found);
  transfers_.erase(found);
  auto length =
    std::min<std::size_t>(chunk_bytes_, t.payload->size() - t.offset);
  frame_header header;
  header.type = frame_type::chunk;
  header.kind = t.kind;
  header.transfer_id = t.id;
  header.chunk_index = t.chunk_index;
  header.total = t.payload->size();
  out = make_frame(header, t.payload, t.offset, length);
  t.offset += length;
  ++t.chunk_index;
  --t.credits;
  if (t.offset < t.payload->size())
    transfers_.push_back(std::move(t));
  return true;
}

void frame_writer::write_next() {
  if (is_writing_ || !socket_.is_open())
    return;
  if (!control_.empty()) {
    current_ = std::move(control_.front());
    control_.pop_front();
  } else if (!take_chunk(current_)) {
    return;
  }
  is_writing_ = true;
  std::array<boost::asio::const_buffer, 2> parts{
    boost::asio::buffer(current_.header),
    boost::asio::buffer(current_.payload->data() + current_.offset,
                        current_.length)};
  boost::asio::async_write(
    socket_, parts,
    [this](const boost::system::error_code& error, std::size_t) {
      is_writing_ = false;
      current_.payload.reset();
      if (error)
        return on_failed_(error.message());
      write_next();
    });
}

} // namespace troupe::runtime::transport
