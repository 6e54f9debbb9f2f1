// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/frame_endpoint.hpp"

#include "runtime/checkpoint/checksum.hpp"
#include "runtime/transport/frame.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <cstring>
#include <future>
#include <random>

#include "tests/support/doctest.hpp"

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::runtime::transport;
using protocols::errc;
using protocols::failure;
using runtime::process::make_stream_pair;
using runtime::process::unique_fd;

namespace {

constexpr std::uint32_t kind = 5;
constexpr std::size_t any_size = 1u << 30;

byte_vector random_bytes(std::size_t size) {
  std::mt19937 random{static_cast<unsigned>(size)};
  byte_vector out(size);
  for (auto& byte : out)
    byte = static_cast<std::byte>(random());
  return out;
}

byte_vector bytes_of(std::uint64_t number) {
  byte_vector out(sizeof(number));
  std::memcpy(out.data(), &number, sizeof(number));
  return out;
}

std::uint64_t number_of(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  REQUIRE(bytes.size() == sizeof(number));
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

frame_endpoint_options options_for(const std::string& peer) {
  frame_endpoint_options options;
  options.peer = peer;
  options.run_id = "run";
  options.chunk_bytes = 1000;
  return options;
}

struct connected {
  std::optional<frame_endpoint> left;
  std::optional<frame_endpoint> right;

  connected() {
    auto sockets = make_stream_pair();
    left.emplace(std::move(sockets.ours), options_for("right"));
    right.emplace(std::move(sockets.theirs), options_for("left"));
  }
};

/// A peer that says what the test wants, right or wrong.
struct raw_peer {
  unique_fd socket;
  std::optional<frame_endpoint> endpoint;
  std::promise<failure> closed;

  explicit raw_peer(frame_endpoint_options options = options_for("raw")) {
    auto sockets = make_stream_pair();
    socket = std::move(sockets.ours);
    timeval limit{10, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    endpoint.emplace(std::move(sockets.theirs), options);
    endpoint->on_closed([this](const failure& why) { closed.set_value(why); });
  }

  ~raw_peer() { endpoint.reset(); }

  void send(std::span<const std::byte> bytes) const {
    REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL)
            == static_cast<ssize_t>(bytes.size()));
  }

  void send(frame_header header, const byte_vector& payload) const {
    header.run_hash = hash_run_id("run");
    header.length = static_cast<std::uint32_t>(payload.size());
    header.payload_crc = runtime::checkpoint::crc32c(payload);
    send(encode(header));
    send(payload);
  }

  byte_vector receive(std::size_t size) const {
    byte_vector out(size);
    if (size > 0)
      REQUIRE(::recv(socket.get(), out.data(), size, MSG_WAITALL)
              == static_cast<ssize_t>(size));
    return out;
  }

  /// Returns the next frame's header; its payload is read and dropped.
  frame_header receive_frame() const {
    auto bytes = receive(frame_header_bytes);
    auto header = decode_frame_header(
      std::span<const std::byte, frame_header_bytes>{bytes});
    receive(header.length);
    return header;
  }

  failure await_close() {
    auto end = closed.get_future();
    REQUIRE(end.wait_for(10s) == std::future_status::ready);
    return end.get();
  }

  std::future<fetch_result> start_fetch(std::size_t max_bytes,
                                        std::chrono::milliseconds timeout) {
    auto promise = std::make_shared<std::promise<fetch_result>>();
    endpoint->fetch_async(kind, {}, max_bytes, timeout, [promise](auto r) {
      promise->set_value(std::move(r));
    });
    return promise->get_future();
  }

  /// True if the endpoint is still of use.
  bool answers() {
    auto result = start_fetch(any_size, 10s);
    frame_header request = receive_frame();
    while (request.type != frame_type::request)
      request = receive_frame();
    send(chunk_of(request, 0, 3), random_bytes(3));
    return result.get().payload == random_bytes(3);
  }

  static frame_header chunk_of(const frame_header& request, std::uint32_t index,
                               std::uint64_t total) {
    frame_header header;
    header.type = frame_type::chunk;
    header.kind = kind;
    header.transfer_id = request.transfer_id;
    header.chunk_index = index;
    header.total = total;
    return header;
  }
};

template <class Action>
failure failure_of(Action action) {
  try {
    action();
  } catch (const failure& e) {
    return e;
  }
  return {errc::none, "no error"};
}

} // namespace

TEST_SUITE("runtime.transport.frame_endpoint") {

  TEST_CASE("payloads of all sizes arrive as they were, both ways at once") {
    connected c;
    auto make = [](std::span<const std::byte> request) {
      return random_bytes(number_of(request));
    };
    c.left->serve(kind, make);
    c.right->serve(kind, make);
    std::vector<std::pair<std::size_t, std::future<fetch_result>>> results;
    for (auto* end : {&*c.left, &*c.right})
      for (std::size_t size : {0, 1, 999, 1000, 1001, 2000, 300'007}) {
        auto promise = std::make_shared<std::promise<fetch_result>>();
        end->fetch_async(kind, bytes_of(size), size, 20s, [promise](auto r) {
          promise->set_value(std::move(r));
        });
        results.emplace_back(size, promise->get_future());
      }

    for (auto& [size, future] : results) {
      auto result = future.get();
      CAPTURE(size);
      CHECK_FALSE(result.error);
      CHECK(result.payload == random_bytes(size));
    }
  }

  TEST_CASE("what a handler throws reaches the one who fetches") {
    connected c;
    c.right->serve(kind, [](auto) -> byte_vector {
      throw failure{errc::epoch_stale, "group 1/2/3 is of epoch 4"};
    });

    auto e = failure_of([&] { c.left->fetch(kind, {}, 10, 10s); });

    CHECK(e.code() == errc::epoch_stale);
    CHECK(e.what() == std::string{"'right' says: group 1/2/3 is of epoch 4"});
  }

  TEST_CASE("a kind that nobody serves is refused by number") {
    connected c;
    auto e = failure_of([&] { c.left->fetch(77, {}, 10, 10s); });
    CHECK(e.code() == errc::invalid_request);
    CHECK(e.what() == std::string{"'right' says: nothing here serves kind 77"});
  }

  TEST_CASE("an answer above the expectation is refused by both numbers") {
    connected c;
    c.right->serve(kind, [](auto) { return random_bytes(1001); });
    auto e = failure_of([&] { c.left->fetch(kind, {}, 1000, 10s); });
    CHECK(e.code() == errc::capacity_exceeded);
    CHECK(e.what()
          == std::string{"'right' says: the answer of kind 5 has 1001 bytes, "
                         "expected at most 1000"});
    CHECK(c.left->fetch(kind, {}, 1001, 10s) == random_bytes(1001));
  }

  TEST_CASE("too large a request and too many fetches are refused") {
    auto options = options_for("raw");
    options.max_transfers = 1;
    options.max_request_bytes = 8;
    raw_peer peer{options};

    auto large =
      failure_of([&] { peer.endpoint->fetch(kind, random_bytes(9), 1, 10s); });
    CHECK(large.code() == errc::capacity_exceeded);
    CHECK(large.what()
          == std::string{"a fetch from 'raw' is refused: its request has 9 "
                         "bytes, allowed: 8"});
    auto first = peer.start_fetch(1, 20s);
    auto many = failure_of([&] { peer.endpoint->fetch(kind, {}, 1, 10s); });
    CHECK(many.what()
          == std::string{"a fetch from 'raw' is refused: 1 are running, "
                         "allowed: 1"});
  }

  TEST_CASE("a peer that does not answer costs a fetch its deadline only") {
    raw_peer peer;
    auto e = failure_of([&] { peer.endpoint->fetch(kind, {}, 100, 30ms); });
    CHECK(e.code() == errc::deadline_exceeded);
    CHECK(
      e.what()
      == std::string{"fetch of kind 5 from 'raw': 0 of an unknown number of "
                     "bytes within 30 ms"});
    auto request = peer.receive_frame();
    CHECK(peer.receive_frame().type == frame_type::cancel);

    // A late chunk of the transfer that was given up is dropped.
    peer.send(raw_peer::chunk_of(request, 0, 50), random_bytes(50));
    CHECK(peer.answers());
  }

  TEST_CASE("a deadline in the middle of a chunk leaves the stream usable") {
    raw_peer peer;
    auto result = peer.start_fetch(any_size, 200ms);
    auto request = peer.receive_frame();
    auto payload = random_bytes(100'000);
    auto header = raw_peer::chunk_of(request, 0, payload.size());
    header.run_hash = hash_run_id("run");
    header.length = static_cast<std::uint32_t>(payload.size());
    header.payload_crc = runtime::checkpoint::crc32c(payload);
    peer.send(encode(header));
    peer.send(std::span{payload}.first(50'000));

    auto e = result.get().error;
    REQUIRE(e);
    CHECK(e->code() == errc::deadline_exceeded);
    peer.send(std::span{payload}.subspan(50'000));
    CHECK(peer.answers());
  }

  TEST_CASE("a flipped bit in a header ends the connection, whichever it is") {
    for (std::size_t byte = 0; byte < frame_header_bytes; ++byte) {
      raw_peer peer;
      frame_header header;
      header.run_hash = hash_run_id("run");
      header.kind = kind;
      auto bytes = encode(header);
      bytes[byte] ^= std::byte{0x10};

      peer.send(bytes);

      auto why = peer.await_close();
      CAPTURE(byte);
      CHECK(why.code() == errc::frame_corrupt);
      CHECK(std::string{why.what()}.starts_with("from 'raw': frame header: "));
    }
  }

  TEST_CASE("a frame of another run ends the connection by name") {
    raw_peer peer;
    frame_header header;
    header.run_hash = hash_run_id("other");
    peer.send(encode(header));
    auto why = peer.await_close();
    CHECK(why.code() == errc::frame_corrupt);
    CHECK(std::string{why.what()}.find("not that of run 'run'")
          != std::string::npos);
  }

  TEST_CASE("a length above what its type may have ends the connection") {
    raw_peer peer;
    auto pending = peer.start_fetch(10, 20s);
    frame_header header;
    header.run_hash = hash_run_id("run");
    header.length = (64u << 10) + 1;

    peer.send(encode(header));

    CHECK(
      peer.await_close().what()
      == std::string{"from 'raw': frame header: length is 65537, allowed: 0 "
                     "to 65536"});
    CHECK(pending.get().error->code() == errc::frame_corrupt);
    auto later = failure_of([&] { peer.endpoint->fetch(kind, {}, 1, 10s); });
    CHECK(later.code() == errc::frame_corrupt);
  }

  TEST_CASE("a flipped bit in a payload costs its transfer only") {
    raw_peer peer;
    auto result = peer.start_fetch(any_size, 20s);
    auto request = peer.receive_frame();
    auto header = raw_peer::chunk_of(request, 0, 100);
    header.run_hash = hash_run_id("run");
    header.length = 100;
    auto payload = random_bytes(100);
    header.payload_crc = runtime::checkpoint::crc32c(payload);
    payload[60] ^= std::byte{1};
    peer.send(encode(header));
    peer.send(payload);

    auto e = result.get().error;
    REQUIRE(e);
    CHECK(e->code() == errc::frame_corrupt);
    CHECK(
      e->what()
      == std::string{"transfer of kind 5 from 'raw': checksum of chunk 0 is "
                     "wrong"});
    CHECK(peer.answers());
  }

  TEST_CASE("a chunk that does not belong costs its transfer only") {
    raw_peer peer;
    auto result = peer.start_fetch(1000, 20s);
    auto request = peer.receive_frame();
    auto code = errc::frame_corrupt;
    SUBCASE("out of order") {
      peer.send(raw_peer::chunk_of(request, 1, 100), random_bytes(10));
    }
    SUBCASE("past the total") {
      peer.send(raw_peer::chunk_of(request, 0, 100), random_bytes(101));
    }
    SUBCASE("empty") {
      peer.send(raw_peer::chunk_of(request, 0, 100), {});
    }
    SUBCASE("with another total than before") {
      peer.send(raw_peer::chunk_of(request, 0, 100), random_bytes(10));
      peer.send(raw_peer::chunk_of(request, 1, 99), random_bytes(10));
    }
    SUBCASE("with a total above the expectation") {
      code = errc::capacity_exceeded;
      peer.send(raw_peer::chunk_of(request, 0, ~0ull), random_bytes(10));
    }

    auto e = result.get().error;
    REQUIRE(e);
    CHECK(e->code() == code);
    CHECK(peer.answers());
  }

  TEST_CASE("a peer that leaves is named") {
    raw_peer peer;
    auto result = peer.start_fetch(any_size, 20s);
    auto request = peer.receive_frame();
    auto header = raw_peer::chunk_of(request, 0, 100);
    header.run_hash = hash_run_id("run");
    header.length = 100;
    auto bytes = encode(header);
    SUBCASE("between two frames") {}
    SUBCASE("within a header") {
      peer.send(std::span{bytes}.first(20));
    }
    SUBCASE("within a chunk") {
      peer.send(bytes);
      peer.send(random_bytes(50));
    }

    peer.socket.close();

    auto e = result.get().error;
    REQUIRE(e);
    CHECK(e->code() == errc::peer_gone);
    CHECK(
      std::string{e->what()}.starts_with("the connection to 'raw' ended: "));
  }

  TEST_CASE("no more chunks are sent than the receiver gave credit for") {
    raw_peer peer;
    peer.endpoint->serve(kind, [](std::span<const std::byte> request) {
      return random_bytes(number_of(request));
    });
    frame_header slow;
    slow.kind = kind;
    slow.transfer_id = 1;
    slow.total = any_size;
    slow.argument = 20'000;
    slow.chunk_index = 2; // credits
    peer.send(slow, bytes_of(10'000));
    CHECK(peer.receive_frame().chunk_index == 0);
    CHECK(peer.receive_frame().chunk_index == 1);

    // Another transfer overtakes the one that waits.
    auto quick = slow;
    quick.transfer_id = 2;
    peer.send(quick, bytes_of(10));
    CHECK(peer.receive_frame().transfer_id == 2);

    frame_header credit;
    credit.type = frame_type::credit;
    credit.transfer_id = 1;
    credit.argument = 1;
    peer.send(credit, {});
    auto third = peer.receive_frame();
    CHECK(third.transfer_id == 1);
    CHECK(third.chunk_index == 2);

    // A transfer that is given up sends no more, credit or not.
    frame_header cancel;
    cancel.type = frame_type::cancel;
    cancel.transfer_id = 1;
    peer.send(cancel, {});
    peer.send(credit, {});
    quick.transfer_id = 3;
    peer.send(quick, bytes_of(10));
    CHECK(peer.receive_frame().transfer_id == 3);
  }

  TEST_CASE("a peer that never reads is dropped, not waited for") {
    raw_peer peer;
    // Each leaves a request and a cancel behind.
    failure last{errc::none, ""};
    for (int i = 0; i < 5'000 && last.code() != errc::peer_gone; ++i)
      last = failure_of([&] { peer.endpoint->fetch(kind, {}, 1, 0ms); });
    CHECK(last.code() == errc::peer_gone);
    CHECK(last.what()
          == std::string{"the connection to 'raw' ended: it leaves 1024 frames "
                         "unread"});
  }

  TEST_CASE("random bytes never do more than end the connection") {
    for (std::size_t size = 0; size < 200; size += 7) {
      raw_peer peer;
      peer.send(random_bytes(size + 64));
      CHECK(peer.await_close().code() == errc::frame_corrupt);
    }
  }

  TEST_CASE("closing an endpoint fails what it waits for") {
    raw_peer peer;
    auto result = peer.start_fetch(1, 20s);
    peer.receive_frame();
    peer.endpoint.reset();
    CHECK(result.get().error->what()
          == std::string{"the connection to 'raw' ended: closed on this side"});
  }

} // TEST_SUITE
