// SPDX-License-Identifier: Apache-2.0
//
// One YAML value into one member, with type and range checked.
#pragma once

#include "runtime/config/job_document.hpp"
#include "runtime/config/key_table.hpp"

namespace troupe::runtime::config {

/// Sets the row's member of `job`; its block must be present.
/// Errors: config_wrong_type, config_out_of_range; the job is unchanged then.
void read_value(const key_row& row, const key_value& value, job_config& job);

} // namespace troupe::runtime::config
