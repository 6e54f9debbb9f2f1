// SPDX-License-Identifier: Apache-2.0
//
// The sending half of an endpoint: one outstanding write, control frames first,
// then one chunk of each transfer that has credit, in turn. Payloads are cut
// into frames only when they are written, so what waits is a pointer.
#pragma once

#include "runtime/asio.hpp"
#include "runtime/transport/frame.hpp"
#include "runtime/transport/frame_endpoint.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace troupe::runtime::transport {

using stream_socket = boost::asio::local::stream_protocol::socket;

/// Thread: the endpoint's.
class frame_writer {
public:
  /// `on_failed` gets the error text when the connection cannot be written, or
  /// the peer lets control frames pile up.
  frame_writer(stream_socket& socket, std::uint64_t run_hash,
               std::uint32_t chunk_bytes,
               std::function<void(const std::string&)> on_failed);

  /// Queues a control frame (anything but a chunk).
  void send(frame_header header, byte_vector payload);

  /// Starts to send a payload in chunks.
  void start(std::uint64_t transfer_id, std::uint32_t kind, byte_vector payload,
             std::uint64_t credits);

  void add_credits(std::uint64_t transfer_id, std::uint64_t credits);

  /// Forgets a transfer; nothing happens when there is none.
  void cancel(std::uint64_t transfer_id);

  /// Returns whether chunks of the transfer are still to be written.
  [[nodiscard]] bool has(std::uint64_t transfer_id) const;

  [[nodiscard]] std::size_t num_transfers() const { return transfers_.size(); }

  /// Drops all; to be called before the socket is closed.
  void clear();

private:
  struct frame {
    encoded_frame_header header;
    std::shared_ptr<const byte_vector> payload;
    std::size_t offset = 0;
    std::size_t length = 0;
  };

  struct transfer {
    std::uint64_t id = 0;
    std::uint32_t kind = 0;
    std::shared_ptr<const byte_vector> payload;
    std::size_t offset = 0;
    std::uint32_t chunk_index = 0;
    std::uint64_t credits = 0;
  };

  frame make_frame(frame_header header,
                   std::shared_ptr<const byte_vector> payload,
                   std::size_t offset, std::size_t length) const;
  bool take_chunk(frame& out);
  void write_next();

  stream_socket& socket_;
  std::uint64_t run_hash_;
  std::uint32_t chunk_bytes_;
  std::function<void(const std::string&)> on_failed_;
  std::deque<frame> control_;
  std::deque<transfer> transfers_; ///< the next one to be served first
  frame current_;
  bool is_writing_ = false;
};

} // namespace troupe::runtime::transport
