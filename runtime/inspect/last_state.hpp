// SPDX-License-Identifier: Apache-2.0
//
// A sentence on what a process was doing when it was last seen, for the error
// that reports its loss.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::runtime::inspect {

/// Returns, for instance: "rank-0 (pid 123) was killed by signal 9; last state:
/// rank=ready, rollout=generating; in handler decode_quantum for 0.3s; last
/// error: none". `what_happened` is the part after the name ("was killed by
/// signal 9"); without it the file's own end text stands there. Never fails: a
/// process without a card is said to have none.
std::string describe_last_state(const std::filesystem::path& run_dir,
                                std::string_view process,
                                std::string_view what_happened = {});

} // namespace troupe::runtime::inspect
