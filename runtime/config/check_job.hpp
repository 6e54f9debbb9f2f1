// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with a job whose single values are right.
#pragma once

#include "runtime/config/job_config.hpp"
#include "runtime/config/job_document.hpp"

namespace troupe::runtime::config {

/// Errors, in this order: unsupported, config_conflict (two keys that exclude
/// each other), config_missing_key, config_unused_key, config_conflict (two
/// values that do not fit).
void check_job(const job_config& job, const job_document& document);

/// What a job needs in order to train beside that; `file` is named.
/// Errors: config_conflict.
void check_training(const job_config& job, const std::string& file);

} // namespace troupe::runtime::config
