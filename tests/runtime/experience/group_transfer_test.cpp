// SPDX-License-Identifier: Apache-2.0
//
// A group of 8 completions x 32k tokens from a group store to a trainer.
#include "runtime/process/child.hpp"
#include "tests/runtime/experience/group_service.hpp"
#include "tests/runtime/experience/synthetic_group.hpp"

#include <sys/wait.h>

#include <csignal>

#include "tests/support/doctest.hpp"

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::runtime::experience;
using namespace troupe::runtime::process;
using runtime::transport::frame_endpoint;

namespace {

constexpr std::size_t max_bytes = 16u << 20;
const protocols::group_id id{0, 7, 0};

void check_pull(frame_endpoint& endpoint) {
  auto expected = tests::make_group(id, 8, 32'768);
  auto start = std::chrono::steady_clock::now();
  auto bytes =
    endpoint.fetch(service_group, encode_key({id, 3}), max_bytes, 20s);
  auto group = decode_group(bytes);
  auto time = std::chrono::steady_clock::now() - start;

  CHECK(tests::has_same_bits(group, expected));
  MESSAGE(
    bytes.size() << " bytes in "
                 << std::chrono::duration<double, std::milli>(time).count()
                 << " ms");
  auto texts = decode_texts(
    endpoint.fetch(service_texts, encode_key({id, 3}), max_bytes, 20s));
  REQUIRE(texts.size() == 8);
  CHECK(texts[7] == expected.samples[7].text);
  try {
    endpoint.fetch(service_group, encode_key({id, 4}), max_bytes, 20s);
    FAIL("a stale epoch was served");
  } catch (const protocols::failure& e) {
    CHECK(e.code() == protocols::errc::epoch_stale);
  }
}

} // namespace

TEST_SUITE("runtime.experience.group_transfer") {

  TEST_CASE("8 x 32k tokens pass bit for bit within a process") {
    group_store store{64u << 20};
    store.put(tests::make_group(id, 8, 32'768));
    auto sockets = make_stream_pair();
    frame_endpoint rollout{std::move(sockets.theirs),
                           {"trainer", "run"},
                           tests::serve_groups(store)};
    frame_endpoint trainer{std::move(sockets.ours), {"rollout", "run"}};
    check_pull(trainer);
  }

  TEST_CASE("8 x 32k tokens pass bit for bit between two processes") {
    auto sockets = make_stream_pair();
    child_options child;
    child.name = "rollout";
    child.argv = {EXPERIENCE_FIXTURE};
    child.fds = {{sockets.theirs.get(), 3}};
    pid_t pid = start_child(child);
    sockets.theirs.close();
    {
      frame_endpoint trainer{std::move(sockets.ours), {"rollout", "run"}};
      check_pull(trainer);
      SUBCASE("and both ends leave in peace") {}
      SUBCASE("and a killed rollout is named") {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        try {
          trainer.fetch(service_group, encode_key({id, 3}), max_bytes, 20s);
          FAIL("a dead process served");
        } catch (const protocols::failure& e) {
          CHECK(e.code() == protocols::errc::peer_gone);
        }
        return;
      }
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    CHECK(status == 0);
  }

} // TEST_SUITE
