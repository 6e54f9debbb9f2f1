// SPDX-License-Identifier: Apache-2.0
//
// What is said of a process that was lost: by the coordinator, or by the
// launcher when there is no coordinator any more.
#pragma once

#include <filesystem>
#include <string>

namespace troupe::actors {

/// Returns two lines: the process, what happened ("was killed by signal 9"),
/// its last state; and what to do.
std::string report_loss(const std::filesystem::path& run_directory,
                        const std::string& process,
                        const std::string& what_happened);

} // namespace troupe::actors
