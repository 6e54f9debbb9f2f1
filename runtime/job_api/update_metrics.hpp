// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/job_api/job.hpp"

namespace troupe::runtime::job_api {

/// Metrics of a step from those of its updates: what the rollout decided is
/// that of the first, versions and running counts those of the last, tokens and
/// samples are added, a key in _max is the largest, the rest are means over the
/// updates that have the key.
class update_metrics {
public:
  void add(const metrics& of_update);
  void write_to(metrics& values) const;

private:
  struct sum {
    double total = 0;
    std::int64_t count = 0;
  };
  std::map<std::string, sum> of_key_;
};

} // namespace troupe::runtime::job_api
