// SPDX-License-Identifier: Apache-2.0
//
// The commands that run a job's processes: each makes a run directory with
// resolved.yaml and becomes the launcher.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::actors {

struct run_arguments {
  std::string file;
  std::vector<std::string> overrides;
  bool is_dry = false, is_resuming = false;
};

struct generate_arguments {
  std::string model, prompt, file;
  std::int64_t max_new_tokens = 64, top_k = 0;
  double temperature = 0, top_p = 1;
  std::uint64_t seed = 1;
  std::vector<std::string> overrides;
};

struct eval_arguments {
  std::string file, model, data;
  std::vector<std::string> overrides;
};

/// All return an exit code and throw failure for what is refused before
/// anything starts.
int run_job_command(const run_arguments& arguments);
int generate_command(const generate_arguments& arguments);
int eval_command(const eval_arguments& arguments);

} // namespace troupe::actors
