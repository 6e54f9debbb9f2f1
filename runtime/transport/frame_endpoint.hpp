// SPDX-License-Identifier: Apache-2.0
//
// One end of a connection for everything that is too big for a message. Each
// end may serve (answer requests by payloads) and fetch at the same time. A
// payload travels in chunks, at most `credits` of which are on the way, so that
// nothing grows without bound. One write is outstanding at a time.
#pragma once

#include "protocols/failure.hpp"
#include "runtime/process/unique_fd.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::runtime::transport {

using byte_vector = std::vector<std::byte>;

struct frame_endpoint_options {
  std::string peer = "peer";            ///< the other end's name, for messages
  std::string run_id;                   ///< frames of another run are refused
  std::uint32_t chunk_bytes = 1u << 20; ///< at most max_chunk_bytes
  std::uint32_t credits = 4;            ///< chunks on the way per transfer
  std::size_t max_transfers = 64;       ///< served or fetched at a time
  std::size_t max_request_bytes = 64u << 10;
};

struct fetch_result {
  byte_vector payload;
  std::optional<protocols::failure> error;
};

class frame_endpoint {
public:
  using clock = std::chrono::steady_clock;

  /// Runs on the endpoint's thread and must not block; what it throws as
  /// failure reaches the peer's fetch.
  using handler = std::function<byte_vector(std::span<const std::byte>)>;

  using service_map = std::map<std::uint32_t, handler>;

  /// `socket`: a connected Unix stream socket. Reading begins here: a request
  /// of a kind that is not yet served is refused.
  frame_endpoint(process::unique_fd socket, frame_endpoint_options options,
                 service_map services = {});

  /// Fails what is pending with peer_gone, closes and joins the thread.
  ~frame_endpoint();

  /// Answers requests of this kind from now on.
  void serve(std::uint32_t kind, handler answer);

  /// Asks the peer and returns its payload. Errors: deadline_exceeded,
  /// capacity_exceeded (more than max_bytes, or too many transfers),
  /// frame_corrupt, peer_gone, and what the handler threw. Blocks; not from a
  /// callback.
  byte_vector fetch(std::uint32_t kind, std::span<const std::byte> request,
                    std::size_t max_bytes, clock::duration timeout);

  /// As fetch, but `done` is called once, on the endpoint's thread.
  void fetch_async(std::uint32_t kind, std::span<const std::byte> request,
                   std::size_t max_bytes, clock::duration timeout,
                   std::function<void(fetch_result)> done);

  /// Called once, on the endpoint's thread, when the connection ends.
  void on_closed(std::function<void(const protocols::failure&)> callback);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace troupe::runtime::transport
