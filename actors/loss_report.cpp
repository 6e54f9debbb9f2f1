// SPDX-License-Identifier: Apache-2.0
#include "actors/loss_report.hpp"

#include "protocols/failure.hpp"
#include "runtime/checkpoint/manifest.hpp"
#include "runtime/inspect/last_state.hpp"
#include "runtime/outputs/run_directory.hpp"

namespace troupe::actors {

namespace {

std::string way_on(const std::filesystem::path& run_directory) {
  const auto folder =
    run_directory / std::string{runtime::outputs::layout::checkpoints};
  try {
    const auto sealed = runtime::checkpoint::list_sealed(folder);
    if (!sealed.empty())
      return "continue from " + sealed.front().path.filename().string()
             + " with --resume";
  } catch (const protocols::failure&) {
    // Nothing to continue from is said below.
  }
  return "start again: no checkpoint was sealed";
}

} // namespace

std::string report_loss(const std::filesystem::path& run_directory,
                        const std::string& process,
                        const std::string& what_happened) {
  std::string text =
    runtime::inspect::describe_last_state(run_directory, process, what_happened)
    + "\n  what to do: ";
  if (what_happened.find("SIGKILL") != std::string::npos)
    text += "if nobody killed it, memory ran out (see dmesg); ";
  const auto log = run_directory / "logs" / (process + ".log");
  std::error_code absent;
  if (std::filesystem::file_size(log, absent) > 0 && !absent)
    text += "read " + log.string() + "; ";
  return text + way_on(run_directory);
}

} // namespace troupe::actors
