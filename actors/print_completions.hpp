// SPDX-License-Identifier: Apache-2.0
//
// What `troupe generate` and `troupe eval` print.
#pragma once

#include "actors/control_context.hpp"
#include "runtime/job_api/job.hpp"

#include <iosfwd>

namespace troupe::actors {

/// Generates one completion for each row of the training data (the command's
/// prompts, in order) and prints them: the text for one prompt, a JSON object a
/// line for several.
void print_completions(runtime::job_api::job& job, control_context& control,
                       std::ostream& out);

/// Evaluates data.eval and prints its metrics as a JSON object.
runtime::job_api::metrics print_evaluation(runtime::job_api::job& job,
                                           std::ostream& out);

} // namespace troupe::actors
