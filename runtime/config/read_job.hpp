// SPDX-License-Identifier: Apache-2.0
//
// Reads a job file strictly: a key that is unknown, without effect in this
// job, of the wrong type, out of range, missing, doubled or in conflict with
// another ends with one failure that names the place, the key, the value and
// what is allowed. Nothing is expanded: no environment, no "~".
#pragma once

#include "runtime/config/job_config.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace troupe::runtime::config {

/// Returns the job of `file` with the command line's `overrides` on top, each
/// `key=value` with a dotted key; `key=null` takes the key (or block) out of
/// the file. Relative paths in the file start at the file's folder, those in
/// overrides and run.directory at the current folder; all are absolute in the
/// result.
/// Errors: failure with errc::config_*, or errc::unsupported for what a later
/// version brings. The text starts with "FILE:LINE: " or
/// "command line: key=value: ".
job_config read_job(const std::filesystem::path& file,
                    std::span<const std::string> overrides = {});

/// As read_job, with the text in memory; `file` names it.
job_config read_job_text(std::string_view text,
                         const std::filesystem::path& file,
                         std::span<const std::string> overrides = {});

/// Returns YAML with every key that has an effect, defaults filled in, which
/// reads back to the same job from any folder.
std::string write_resolved(const job_config& job);

} // namespace troupe::runtime::config
