// SPDX-License-Identifier: Apache-2.0
#include "actors/message_size.hpp"

#include "actors/caf_config.hpp"
#include "tests/support/failure_of.hpp"

#include <caf/actor_system.hpp>

#include "tests/support/doctest.hpp"

TEST_SUITE_BEGIN("actors.message_size");

using namespace troupe::actors;
using troupe::protocols::consume;
using troupe::tests::failure_of;

namespace {

struct counting_system {
  caf_config config{"test", 1.0};
  caf::actor_system system{config};
  process_context process;
};

/// A header takes 12 bytes, an id 12, a length one to three.
consume with_ids(std::size_t count) {
  consume out;
  out.ids.resize(count);
  return out;
}

} // namespace

TEST_CASE("messages are counted and the largest is kept") {
  counting_system s;
  auto small = with_ids(1), large = with_ids(100);

  count_message(s.process, s.system, small);
  count_message(s.process, s.system, large);
  count_message(s.process, s.system, small);

  CHECK(s.process.num_messages == 3);
  CHECK(s.process.largest_message_bytes == 12 + 1 + 1200);
}

TEST_CASE("a message above 64 KiB is refused by its type and its bytes") {
  counting_system s;
  auto fits = with_ids(5460), too_large = with_ids(5461);

  count_message(s.process, s.system, fits);
  CHECK(s.process.largest_message_bytes == 65534);

  CHECK(failure_of([&] { count_message(s.process, s.system, too_large); })
        == "message_too_large: troupe::protocols::consume takes 65546 bytes, "
           "allowed: 65536; ask for fewer groups at a time");
  CHECK(s.process.num_messages == 1);
}

TEST_SUITE_END();
