// SPDX-License-Identifier: Apache-2.0
//
// The built-in loops, written against the job's surface and nothing else.
#pragma once

#include "runtime/job_api/job.hpp"

namespace troupe::runtime::job_api {

/// What a run came to.
struct loop_result {
  std::int64_t steps_done = 0; ///< of both stages
  std::int64_t num_steps = 0;  ///< that the job asked for
  bool is_complete = false;    ///< all steps, the last evaluation, the model
  metrics last;                ///< of the last step and the evaluations
};

/// Runs the job to its end: sft_warmup, then train.algorithm, with evaluations
/// before, between and after, checkpoints, and the final model. After the first
/// Ctrl-C it saves a checkpoint (of step 0 if nothing was trained) and returns.
loop_result run_job(job& j);

} // namespace troupe::runtime::job_api
