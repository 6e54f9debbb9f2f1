// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/frame_endpoint.hpp"

#include "runtime/asio.hpp"
#include "runtime/checkpoint/checksum.hpp"
#include "runtime/transport/frame.hpp"
#include "runtime/transport/frame_writer.hpp"

#include <algorithm>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <thread>

namespace troupe::runtime::transport {

namespace {

using boost::system::error_code;
using protocols::errc;
using protocols::failure;
using clock = frame_endpoint::clock;
using std::chrono::milliseconds;

constexpr auto max_deadline = std::chrono::hours{24};
constexpr std::size_t max_error_bytes = 4096;

using fetch_callback = std::function<void(fetch_result)>;

/// A fetch that waits for its chunks.
struct incoming {
  std::uint32_t kind = 0;
  std::size_t max_bytes = 0;
  milliseconds timeout{};
  byte_vector payload;
  std::size_t received = 0;
  std::uint32_t next_chunk = 0;
  fetch_callback done;
  boost::asio::steady_timer timer;
};

byte_vector to_bytes(std::string_view text) {
  auto bytes = std::as_bytes(std::span{text.data(), text.size()});
  return {bytes.begin(), bytes.end()};
}

} // namespace

struct frame_endpoint::impl {
  explicit impl(frame_endpoint_options o)
    : options(std::move(o)), run_hash(hash_run_id(options.run_id)),
      writer(socket, run_hash, options.chunk_bytes,
             [this](const std::string& why) { lose_peer(why); }) {}

  frame_endpoint_options options;
  std::uint64_t run_hash;
  boost::asio::io_context io{1};
  stream_socket socket{io};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
    io.get_executor()};
  std::thread thread;

  std::mutex mutex;
  service_map handlers;                                // guarded
  std::function<void(const failure&)> closed_callback; // guarded
  std::optional<failure> end;                          // guarded

  // Below: the thread's own.
  frame_writer writer;
  std::map<std::uint64_t, incoming> fetches;
  std::map<std::uint64_t, boost::asio::steady_timer> served_until;
  std::uint64_t next_id = 1;
  encoded_frame_header header_bytes{};
  byte_vector scratch; ///< payloads that belong to no fetch (any more)
  std::optional<std::uint64_t> reading; ///< the fetch that is being filled

  std::string who() const { return "'" + options.peer + "'"; }

  // -- the connection's end ---------------------------------------------------

  void lose_peer(const std::string& why) {
    close({errc::peer_gone, "the connection to " + who() + " ended: " + why});
  }

  void close(const failure& why) {
    std::function<void(const failure&)> callback;
    {
      std::lock_guard guard{mutex};
      if (end)
        return;
      end = why;
      callback = std::move(closed_callback);
    }
    writer.clear();
    error_code ignored;
    socket.close(ignored);
    served_until.clear();
    auto failed = std::move(fetches);
    fetches.clear();
    for (auto& [id, fetch] : failed)
      fetch.done({{}, why});
    if (callback)
      callback(why);
  }

  bool is_closed() {
    std::lock_guard guard{mutex};
    return end.has_value();
  }

  // -- fetching ---------------------------------------------------------------

  void start_fetch(std::uint32_t kind, byte_vector request,
                   std::size_t max_bytes, clock::duration timeout,
                   fetch_callback done) {
    std::optional<failure> refused;
    {
      std::lock_guard guard{mutex};
      refused = end;
    }
    if (!refused && fetches.size() >= options.max_transfers)
      refused =
        failure{errc::capacity_exceeded,
                "a fetch from " + who() + " is refused: "
                  + std::to_string(fetches.size()) + " are running, allowed: "
                  + std::to_string(options.max_transfers)};
    if (!refused && request.size() > options.max_request_bytes)
      refused = failure{errc::capacity_exceeded,
                        "a fetch from " + who()
                          + " is refused: its request "
                            "has "
                          + std::to_string(request.size()) + " bytes, allowed: "
                          + std::to_string(options.max_request_bytes)};
    if (refused)
      return done({{}, *refused});
    auto id = next_id++;
    auto limit = std::chrono::ceil<milliseconds>(
      std::clamp<clock::duration>(timeout, clock::duration{0}, max_deadline));
    auto& fetch = fetches
                    .emplace(id, incoming{kind,
                                          max_bytes,
                                          limit,
                                          {},
                                          0,
                                          0,
                                          std::move(done),
                                          boost::asio::steady_timer{io}})
                    .first->second;
    fetch.timer.expires_after(limit);
    fetch.timer.async_wait([this, id](const error_code& error) {
      if (!error)
        fetch_is_late(id);
    });
    frame_header header;
    header.type = frame_type::request;
    header.kind = kind;
    header.transfer_id = id;
    header.total = max_bytes;
    header.argument = static_cast<std::uint64_t>(limit.count());
    header.chunk_index = options.credits;
    writer.send(header, std::move(request));
  }

  void fetch_is_late(std::uint64_t id) {
    auto found = fetches.find(id);
    if (found == fetches.end())
      return;
    const auto& f = found->second;
    fail_fetch(id, {errc::deadline_exceeded,
                    "fetch of kind " + std::to_string(f.kind) + " from " + who()
                      + ": " + std::to_string(f.received) + " of "
                      + (f.next_chunk == 0 ? std::string{"an unknown number of"}
                                           : std::to_string(f.payload.size()))
                      + " bytes within " + std::to_string(f.timeout.count())
                      + " ms"});
  }

  /// Ends a fetch from our side.
  void fail_fetch(std::uint64_t id, const failure& why) {
    auto node = fetches.extract(id);
    if (reading == id)
      scratch = std::move(node.mapped().payload); // its chunk still arrives
    frame_header header;
    header.type = frame_type::cancel;
    header.transfer_id = id;
    writer.send(header, {});
    node.mapped().done({{}, why});
  }

  // -- reading ----------------------------------------------------------------

  void read_header() {
    boost::asio::async_read(
      socket, boost::asio::buffer(header_bytes),
      [this](const error_code& error, std::size_t) {
        if (error)
          return lose_peer(error.message());
        try {
          auto header = decode_frame_header(header_bytes);
          check(header);
          read_payload(header);
        } catch (const failure& e) {
          close({e.code(), "from " + who() + ": " + e.what()});
        }
      });
  }

  /// Whatever would make us read or keep more than agreed ends the connection.
  void check(const frame_header& header) const {
    if (header.run_hash != run_hash)
      throw failure{errc::frame_corrupt, "frame header: run hash is "
                                           + std::to_string(header.run_hash)
                                           + ", not that of run '"
                                           + options.run_id + "'"};
    std::size_t allowed = 0;
    switch (header.type) {
    case frame_type::request: allowed = options.max_request_bytes; break;
    case frame_type::chunk: allowed = max_chunk_bytes; break;
    case frame_type::error: allowed = max_error_bytes; break;
    case frame_type::credit:
    case frame_type::cancel: break;
    }
    if (header.length > allowed)
      throw failure{errc::frame_corrupt,
                    "frame header: length is " + std::to_string(header.length)
                      + ", allowed: 0 to " + std::to_string(allowed)};
  }

  void read_payload(const frame_header& header) {
    auto* to = find_place(header);
    if (to) {
      reading = header.transfer_id;
    } else {
      scratch.resize(header.length);
      to = scratch.data();
    }
    boost::asio::async_read(
      socket, boost::asio::buffer(to, header.length),
      [this, header, to](const error_code& error, std::size_t) {
        if (error)
          return lose_peer(error.message());
        reading.reset();
        handle(header, {to, header.length});
        if (!is_closed())
          read_header();
      });
  }

  /// Returns where a chunk belongs, or nothing: then its transfer has ended, or
  /// fails here and now.
  std::byte* find_place(const frame_header& header) {
    auto found = fetches.find(header.transfer_id);
    if (header.type != frame_type::chunk || found == fetches.end())
      return nullptr;
    auto& fetch = found->second;
    auto subject = "transfer of kind " + std::to_string(fetch.kind) + " from "
                   + who() + ": ";
    if (header.total > fetch.max_bytes) {
      fail_fetch(header.transfer_id, {errc::capacity_exceeded,
                                      subject + std::to_string(header.total)
                                        + " bytes, expected at most "
                                        + std::to_string(fetch.max_bytes)});
      return nullptr;
    }
    if (header.chunk_index == 0 && fetch.next_chunk == 0)
      fetch.payload.resize(header.total);
    if (header.chunk_index != fetch.next_chunk
        || header.total != fetch.payload.size()
        || header.length > header.total - fetch.received
        || (header.length == 0 && header.total > 0)) {
      fail_fetch(header.transfer_id,
                 {errc::frame_corrupt,
                  subject + "chunk " + std::to_string(header.chunk_index)
                    + " with " + std::to_string(header.length) + " of "
                    + std::to_string(header.total)
                    + " bytes does not follow chunk "
                    + std::to_string(fetch.next_chunk) + " at "
                    + std::to_string(fetch.received) + " of "
                    + std::to_string(fetch.payload.size())});
      return nullptr;
    }
    return fetch.payload.data() + fetch.received;
  }

  void handle(const frame_header& header, std::span<const std::byte> payload) {
    bool is_intact = checkpoint::crc32c(payload) == header.payload_crc;
    switch (header.type) {
    case frame_type::request: return answer(header, payload, is_intact);
    case frame_type::credit:
      return writer.add_credits(header.transfer_id, header.argument);
    case frame_type::cancel:
      writer.cancel(header.transfer_id);
      served_until.erase(header.transfer_id);
      return;
    case frame_type::chunk: return take_chunk(header, is_intact);
    case frame_type::error: return take_error(header, payload);
    }
  }

  void take_chunk(const frame_header& header, bool is_intact) {
    auto found = fetches.find(header.transfer_id);
    if (found == fetches.end())
      return; // a late chunk of a transfer that was given up
    auto& fetch = found->second;
    if (!is_intact)
      return fail_fetch(header.transfer_id,
                        {errc::frame_corrupt,
                         "transfer of kind " + std::to_string(fetch.kind)
                           + " from " + who() + ": checksum of chunk "
                           + std::to_string(header.chunk_index) + " is wrong"});
    fetch.received += header.length;
    ++fetch.next_chunk;
    if (fetch.received == fetch.payload.size()) {
      auto node = fetches.extract(found);
      return node.mapped().done({std::move(node.mapped().payload), {}});
    }
    frame_header credit;
    credit.type = frame_type::credit;
    credit.transfer_id = header.transfer_id;
    credit.argument = 1;
    writer.send(credit, {});
  }

  void take_error(const frame_header& header,
                  std::span<const std::byte> payload) {
    auto node = fetches.extract(header.transfer_id);
    if (!node)
      return;
    std::string text{reinterpret_cast<const char*>(payload.data()),
                     payload.size()};
    auto code = static_cast<errc>(header.argument);
    if (header.argument > 0xffff || protocols::to_string(code) == "unknown")
      code = errc::internal;
    node.mapped().done({{}, failure{code, who() + " says: " + text}});
  }

  // -- serving ----------------------------------------------------------------

  void answer(const frame_header& header, std::span<const std::byte> request,
              bool is_intact) {
    try {
      auto payload = make_payload(header, request, is_intact);
      writer.start(header.transfer_id, header.kind, std::move(payload),
                   header.chunk_index);
      auto& timer =
        served_until
          .insert_or_assign(header.transfer_id, boost::asio::steady_timer{io})
          .first->second;
      timer.expires_after(std::min<clock::duration>(
        milliseconds{std::min<std::uint64_t>(header.argument, 86'400'000)},
        max_deadline));
      timer.async_wait([this, id = header.transfer_id](const error_code& e) {
        if (e)
          return;
        writer.cancel(id);
        served_until.erase(id);
      });
    } catch (const failure& e) {
      refuse(header, e.code(), e.what());
    } catch (const std::exception& e) {
      refuse(header, errc::internal, e.what());
    }
  }

  byte_vector make_payload(const frame_header& header,
                           std::span<const std::byte> request, bool is_intact) {
    // A transfer stays in served_until while it is sent, at most.
    std::erase_if(served_until,
                  [&](auto& entry) { return !writer.has(entry.first); });
    if (!is_intact)
      throw failure{errc::frame_corrupt, "the request's checksum is wrong"};
    if (writer.has(header.transfer_id))
      throw failure{errc::frame_corrupt, "transfer "
                                           + std::to_string(header.transfer_id)
                                           + " is running already"};
    if (writer.num_transfers() >= options.max_transfers)
      throw failure{errc::capacity_exceeded,
                    std::to_string(writer.num_transfers())
                      + " transfers are running, allowed: "
                      + std::to_string(options.max_transfers)};
    handler serve;
    {
      std::lock_guard guard{mutex};
      auto found = handlers.find(header.kind);
      if (found == handlers.end())
        throw failure{errc::invalid_request, "nothing here serves kind "
                                               + std::to_string(header.kind)};
      serve = found->second;
    }
    auto payload = serve(request);
    if (payload.size() > header.total)
      throw failure{errc::capacity_exceeded,
                    "the answer of kind " + std::to_string(header.kind)
                      + " has " + std::to_string(payload.size())
                      + " bytes, expected at most "
                      + std::to_string(header.total)};
    return payload;
  }

  void refuse(const frame_header& header, errc code, std::string text) {
    text.resize(std::min(text.size(), max_error_bytes));
    frame_header error;
    error.type = frame_type::error;
    error.kind = header.kind;
    error.transfer_id = header.transfer_id;
    error.argument = static_cast<std::uint64_t>(code);
    writer.send(error, to_bytes(text));
  }
};

frame_endpoint::frame_endpoint(process::unique_fd socket,
                               frame_endpoint_options options,
                               service_map services)
  : impl_(std::make_unique<impl>(std::move(options))) {
  impl_->handlers = std::move(services);
  error_code error;
  impl_->socket.assign(boost::asio::local::stream_protocol{}, socket.get(),
                       error);
  if (error)
    throw failure{errc::io_failed, "the socket to " + impl_->who()
                                     + " is refused: " + error.message()};
  [[maybe_unused]] int owned = socket.release();
  impl_->read_header();
  impl_->thread = std::thread{[this] { impl_->io.run(); }};
}

frame_endpoint::~frame_endpoint() {
  boost::asio::post(impl_->io, [this] {
    impl_->lose_peer("closed on this side");
    impl_->work.reset();
  });
  impl_->thread.join();
}

void frame_endpoint::serve(std::uint32_t kind, handler answer) {
  std::lock_guard guard{impl_->mutex};
  impl_->handlers[kind] = std::move(answer);
}

void frame_endpoint::fetch_async(std::uint32_t kind,
                                 std::span<const std::byte> request,
                                 std::size_t max_bytes, clock::duration timeout,
                                 std::function<void(fetch_result)> done) {
  boost::asio::post(impl_->io,
                    [impl = impl_.get(), kind,
                     copy = byte_vector{request.begin(), request.end()},
                     max_bytes, timeout, done = std::move(done)]() mutable {
                      impl->start_fetch(kind, std::move(copy), max_bytes,
                                        timeout, std::move(done));
                    });
}

byte_vector frame_endpoint::fetch(std::uint32_t kind,
                                  std::span<const std::byte> request,
                                  std::size_t max_bytes,
                                  clock::duration timeout) {
  std::promise<fetch_result> promise;
  fetch_async(kind, request, max_bytes, timeout,
              [&](fetch_result r) { promise.set_value(std::move(r)); });
  auto result = promise.get_future().get();
  if (result.error)
    throw *result.error;
  return std::move(result.payload);
}

void frame_endpoint::on_closed(
  std::function<void(const protocols::failure&)> callback) {
  std::optional<failure> ended;
  {
    std::lock_guard guard{impl_->mutex};
    if (!impl_->end)
      impl_->closed_callback = std::move(callback);
    else
      ended = impl_->end;
  }
  if (ended)
    boost::asio::post(impl_->io, [callback = std::move(callback),
                                  why = *ended] { callback(why); });
}

} // namespace troupe::runtime::transport
