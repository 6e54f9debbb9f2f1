// SPDX-License-Identifier: Apache-2.0
//
// What all actors of a process share: who the process is, where its cards and
// journal are, how long deadlines are, and the counts of its messages.
#pragma once

#include "protocols/ids.hpp"
#include "protocols/messages.hpp"
#include "runtime/config/deadlines.hpp"
#include "runtime/inspect/card_file.hpp"
#include "runtime/journal/writer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace troupe::actors {

/// No message is larger (OPERATIONS D.2): bulk goes over runtime/transport.
constexpr std::size_t max_message_bytes = 64u << 10;

/// Says on standard error why nobody can see a process's cards, if so.
inline void warn_if_unseen(const runtime::inspect::card_file& cards) {
  if (!cards.warning().empty())
    std::fprintf(stderr, "troupe: warning: %s\n", cards.warning().c_str());
}

struct process_context {
  std::string process; ///< "coordinator", "rank-0"
  std::filesystem::path run_directory;
  std::shared_ptr<runtime::inspect::card_file> cards;
  std::shared_ptr<runtime::journal::writer> journal;
  double deadline_scale = 1.0;
  std::atomic<protocols::job_epoch> epoch{1};
  std::atomic<std::uint64_t> next_request_id{1};
  std::atomic<std::uint64_t> num_messages{0}, largest_message_bytes{0};

  [[nodiscard]] std::chrono::milliseconds
  patience(runtime::config::deadline d) const {
    return runtime::config::duration_of(d, deadline_scale);
  }

  protocols::header make_header() {
    return {next_request_id.fetch_add(1), epoch.load()};
  }
};

} // namespace troupe::actors
