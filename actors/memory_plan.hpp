// SPDX-License-Identifier: Apache-2.0
//
// What a job will hold, computed from its file before anything starts.
#pragma once

#include "runtime/config/job_config.hpp"

#include <iosfwd>

namespace troupe::actors {

/// Prints placement and memory by holder, for `--dry-run`.
/// Errors: model_*, tokenizer_*, as the job would have.
void print_plan(const runtime::config::job_config& job, std::ostream& out);

} // namespace troupe::actors
