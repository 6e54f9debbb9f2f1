// SPDX-License-Identifier: Apache-2.0
#include "runtime/experience/group_store.hpp"

#include "protocols/failure.hpp"
#include "tests/runtime/experience/synthetic_group.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe;
using namespace troupe::runtime::experience;
using protocols::errc;
using protocols::failure;
using tests::make_group;

namespace {

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

TEST_SUITE("runtime.experience.group_store") {

  TEST_CASE("GS-1: a group is leased as it was put, without a copy") {
    group_store store{1u << 20};
    auto group = make_group({0, 1, 0}, 8, 10);
    store.put(group);

    auto lease = store.lease({0, 1, 0}, 3);

    CHECK(tests::has_same_bits(*lease, group));
    CHECK(lease == store.lease({0, 1, 0}, 3));
  }

  TEST_CASE("another epoch and an unknown id are refused by both numbers") {
    group_store store{1u << 20};
    store.put(make_group({0, 1, 0}, 1, 1));

    auto stale = failure_of([&] { (void)store.lease({0, 1, 0}, 2); });
    CHECK(stale.code() == errc::epoch_stale);
    CHECK(stale.what()
          == std::string{"group 0/1/0 is of epoch 3, asked for 2"});
    auto absent = failure_of([&] { (void)store.lease({0, 1, 1}, 3); });
    CHECK(absent.code() == errc::invalid_request);
    CHECK(absent.what() == std::string{"group 0/1/1 is not in the store"});
    auto twice = failure_of([&] { store.put(make_group({0, 1, 0}, 1, 1)); });
    CHECK(twice.code() == errc::invalid_request);
  }

  TEST_CASE("GS-2: bytes count stored groups and leases, within the budget") {
    auto size = num_bytes(make_group({0, 1, 0}, 2, 100));
    group_store store{2 * size};
    store.put(make_group({0, 1, 0}, 2, 100));
    store.put(make_group({0, 2, 0}, 2, 100));
    CHECK(store.bytes() == 2 * size);
    auto lease = store.lease({0, 1, 0}, 3);

    auto full = failure_of([&] { store.put(make_group({0, 3, 0}, 2, 100)); });
    CHECK(full.code() == errc::memory_refused);
    auto n = std::to_string(size);
    CHECK(full.what()
          == "group 0/3/0 needs " + n + " bytes; of " + std::to_string(2 * size)
               + " the store holds " + std::to_string(2 * size)
               + ": group 0/2/0 " + n + ", group 0/1/0 (leased) " + n);

    store.drop({0, 1, 0});
    store.drop({0, 1, 0});
    CHECK(store.bytes() == 2 * size); // the lease still holds it
    auto leased = failure_of([&] { store.put(make_group({0, 3, 0}, 2, 100)); });
    CHECK(std::string{leased.what()}.ends_with(": leases of dropped groups " + n
                                               + ", group 0/2/0 " + n));

    lease.reset();
    CHECK(store.bytes() == size);
    store.put(make_group({0, 3, 0}, 2, 100));
    CHECK(store.num_groups() == 2);
  }

  TEST_CASE("a lease outlives its store") {
    std::shared_ptr<const rollout_group> lease;
    {
      group_store store{1u << 20};
      store.put(make_group({0, 1, 0}, 1, 1));
      lease = store.lease({0, 1, 0}, 3);
    }
    CHECK(lease->samples.size() == 1);
  }

} // TEST_SUITE
