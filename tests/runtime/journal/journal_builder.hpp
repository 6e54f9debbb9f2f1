// SPDX-License-Identifier: Apache-2.0
//
// Journals made by hand, for what no writer of ours would write.
#pragma once

#include "runtime/journal/reader.hpp"

#include <string>
#include <utility>
#include <vector>

namespace troupe::tests {

/// Numbers and dates what is added to it.
class journal_builder {
public:
  explicit journal_builder(std::string process) {
    journal_.process = std::move(process);
  }

  /// Returns the record's reference.
  std::string move(std::string kind, std::string subject, std::string from,
                   std::string event, std::string to,
                   runtime::journal::cause because = {}) {
    runtime::journal::entry r;
    r.run = "run-7";
    r.process = journal_.process;
    r.incarnation = incarnation_;
    r.seq = ++seq_;
    r.mono_ns = r.realtime_ns = static_cast<std::int64_t>(seq_);
    r.what = {.kind = std::move(kind),
              .subject = std::move(subject),
              .from = std::move(from),
              .to = std::move(to),
              .event = std::move(event),
              .because = std::move(because)};
    journal_.records.push_back(std::move(r));
    return reference(journal_.records.back());
  }

  std::string close() {
    return move("control", "journal", "open", "journal_closed", "closed");
  }

  void begin_incarnation() {
    ++incarnation_;
    seq_ = 0;
  }

  runtime::journal::entry& at(std::size_t index) {
    return journal_.records.at(index);
  }
  runtime::journal::process_journal& journal() { return journal_; }

private:
  runtime::journal::process_journal journal_;
  std::uint64_t incarnation_ = 1, seq_ = 0;
};

} // namespace troupe::tests
