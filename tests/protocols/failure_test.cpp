// SPDX-License-Identifier: Apache-2.0
#include "protocols/failure.hpp"

#include "protocols/ids.hpp"

#include <string>

#include "tests/support/doctest.hpp"

namespace troupe::protocols {

TEST_SUITE_BEGIN("protocols.failure");

TEST_CASE("a failure keeps its code, its text and the causes behind it") {
  const failure root(errc::io_failed, "/run/x: No space left on device");
  const failure middle(errc::process_lost, "rank 0 ended by signal 9", root);
  const failure top(errc::aborted, "the job was aborted", middle);

  CHECK(top.code() == errc::aborted);
  CHECK(top.causes().size() == 2);
  CHECK(top.chain()
        == "the job was aborted\n"
           "  caused by process_lost: rank 0 ended by signal 9\n"
           "  caused by io_failed: /run/x: No space left on device");
}

TEST_CASE("a code that is none says so") {
  CHECK(to_string(errc::none) == "none");
  CHECK(to_string(static_cast<errc>(9999)) == "unknown");
}

TEST_CASE("only what time may heal is retryable") {
  CHECK(is_retryable(errc::memory_refused));
  CHECK_FALSE(is_retryable(errc::config_conflict));
}

TEST_CASE("a group's id is printed as pass, position and attempt") {
  CHECK(to_string(group_id{1, 22, 3}) == "1/22/3");
  CHECK(group_id{0, 5, 9} < group_id{1, 0, 0});
}

TEST_SUITE_END();

} // namespace troupe::protocols
