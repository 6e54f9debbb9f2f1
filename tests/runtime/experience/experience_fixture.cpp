// SPDX-License-Identifier: Apache-2.0
//
// The rollout's process of group_transfer_test: holds one group of 8 x 32k
// tokens in its store and serves it over descriptor 3 until the peer leaves.
#include "tests/runtime/experience/group_service.hpp"
#include "tests/runtime/experience/synthetic_group.hpp"

#include <future>

int main() {
  using namespace troupe;
  runtime::experience::group_store store{64u << 20};
  store.put(tests::make_group({0, 7, 0}, 8, 32'768));
  runtime::transport::frame_endpoint endpoint{runtime::process::unique_fd{3},
                                              {"trainer", "run"},
                                              tests::serve_groups(store)};
  std::promise<void> left;
  endpoint.on_closed([&](const auto&) { left.set_value(); });
  left.get_future().wait();
  return 0;
}
