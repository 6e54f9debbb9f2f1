// SPDX-License-Identifier: Apache-2.0
//
// Rules between machines that the records of one process can show (DESIGN
// section 4). A rollout, its weights and its cache belong together when their
// names have the same coordinates: "rollout/dp=0/tp=0", "shard/dp=0/tp=0".
#pragma once

#include "runtime/journal/entry.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace troupe::runtime::journal {

struct finding;

class cross_rules {
public:
  /// Looks at the next record of the process.
  void check(const entry& r, std::vector<finding>& out);

private:
  [[nodiscard]] std::string state_of(const std::string& kind,
                                     const std::string& coordinates) const;

  /// By (kind, coordinates).
  std::map<std::pair<std::string, std::string>, std::string> states_;
};

} // namespace troupe::runtime::journal
