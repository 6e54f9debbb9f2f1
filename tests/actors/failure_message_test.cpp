// SPDX-License-Identifier: Apache-2.0
#include "actors/failure_message.hpp"

#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("actors.failure_message");

using troupe::actors::envelope_of;
using troupe::actors::max_failure_bytes;
using troupe::actors::to_error;
using troupe::actors::to_failure;
using troupe::protocols::errc;
using troupe::protocols::failure;

TEST_CASE("a failure arrives with its code and its causes") {
  const failure torn(errc::checkpoint_corrupt, "step-7: checksum of 'a'");
  const failure sent(errc::aborted, "no checkpoint is left", torn);

  const auto received = to_failure(to_error(sent), "ask checkpoint_index");

  CHECK(received.code() == errc::aborted);
  CHECK(std::string{received.what()} == "no checkpoint is left");
  CHECK(received.causes() == sent.causes());
}

TEST_CASE("a text that is too long is cut at a character, and says so") {
  std::string text(max_failure_bytes - 1, 'x');
  text += "\u00e4 and more";
  const failure cause(errc::internal, std::string(100, 'c'));

  const auto received = to_failure(to_error({errc::aborted, text, cause}), "");

  CHECK(std::string{received.what()}
        == std::string(max_failure_bytes - 1, 'x') + " [11 bytes cut]");
  CHECK(received.causes() == std::vector<std::string>{" [110 bytes cut]"});
}

TEST_CASE("a failure carries an envelope and CAF's own errors carry none") {
  const auto sent = to_error({errc::aborted, "no"}, {"trainer", "rank-0/17"});

  CHECK(envelope_of(sent).from == "trainer");
  CHECK(envelope_of(sent).cause == "rank-0/17");
  CHECK(envelope_of(caf::make_error(caf::sec::request_timeout)).from.empty());
  CHECK(envelope_of({}).from.empty());
}

TEST_CASE("every code arrives as itself") {
  for (std::uint16_t number = 1; number < 1000; ++number) {
    const auto code = static_cast<errc>(number);
    if (to_string(code) == "unknown")
      continue;
    CAPTURE(number);
    CHECK(to_failure(to_error({code, "text"}), "asked").code() == code);
  }
}

TEST_CASE("errors of CAF say who was asked for what") {
  const auto late =
    to_failure(caf::make_error(caf::sec::request_timeout), "ask rollout");
  CHECK(late.code() == errc::deadline_exceeded);
  CHECK(std::string{late.what()}
        == "ask rollout: no answer within the deadline");

  const auto gone =
    to_failure(caf::make_error(caf::sec::request_receiver_down), "ask rollout");
  CHECK(gone.code() == errc::peer_gone);
  CHECK(std::string{gone.what()} == "ask rollout: request_receiver_down");

  const auto killed =
    to_failure(make_error(caf::exit_reason::kill), "ask rollout");
  CHECK(killed.code() == errc::peer_gone);
  CHECK(std::string{killed.what()} == "ask rollout: ended (kill)");

  CHECK(std::string{to_failure({}, "actor").what()} == "actor: ended");
}

TEST_CASE(
  "an exception of a library is internal while a failure stays itself") {
  const failure known(errc::io_failed, "/tmp/x: no space left");
  CHECK(to_failure(static_cast<const std::exception&>(known)).code()
        == errc::io_failed);

  const auto unknown = to_failure(std::runtime_error("bad_alloc"));
  CHECK(unknown.code() == errc::internal);
  CHECK(std::string{unknown.what()} == "bad_alloc");
}

TEST_SUITE_END();
