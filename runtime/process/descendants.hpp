// SPDX-License-Identifier: Apache-2.0
//
// What lives below this process. A sub-reaper inherits every orphan below it,
// so whoever kills and reaps its children until none is left ends the tree,
// daemons (double fork, setsid) included.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace troupe::runtime::process {

/// Makes orphans below this process its children. Errors: io_failed.
void become_subreaper();

/// Returns the children of this process, zombies left out.
std::vector<pid_t> list_children();

/// Returns all live processes below this one, parents first.
std::vector<pid_t> list_descendants();

/// Kills (SIGKILL) and reaps every descendant; true when none is left. SIGCHLD
/// must be blocked. Thread: the only one that waits for children; blocks until
/// the deadline at the latest.
bool kill_descendants(std::chrono::milliseconds deadline);

} // namespace troupe::runtime::process
