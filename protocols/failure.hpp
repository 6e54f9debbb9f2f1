// SPDX-License-Identifier: Apache-2.0
//
// Failures that people or peers can cause: a typed code, a text that names the
// thing, its value, what is allowed and where, and the chain of causes behind
// it. runtime/ throws them, actors/ turn them into messages (`failed`) and
// back. A broken contract of our own is not a failure: see TROUPE_ASSERT.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::protocols {

/// What went wrong. Numbers are part of the wire format and of the journal: a
/// number is never reused. Each has a row in docs/errors.md.
enum class errc : std::uint16_t {
  none = 0,
  // job files and command lines
  config_unknown_key = 101,  ///< not a key of this block; the nearest is named
  config_unused_key = 102,   ///< known, but without effect in this job
  config_wrong_type = 103,   ///< text where a number must be, ...
  config_out_of_range = 104, ///< the allowed range is in the text
  config_missing_key = 105,  ///< required and absent
  config_conflict = 106,     ///< two keys that exclude each other
  config_unreadable = 107,   ///< no such file, or no YAML
  unsupported = 108,         ///< refused by name until a later version
  // data rows
  data_unreadable = 201, ///< no such file, or not JSONL
  data_bad_row = 202,    ///< file, line, field, reason
  data_empty = 203,      ///< zero rows kept
  prompt_too_long = 204, ///< found before step 0
  // models and tokenizers
  model_unreadable = 301,  ///< a file is missing, torn or malformed
  model_unsupported = 302, ///< family, activation or dtype that we lack
  model_mismatch = 303,    ///< names or shapes differ from the config
  tokenizer_unreadable = 304,
  tokenizer_unsupported = 305, ///< names the component
  plugin_refused = 306,        ///< dlopen, ABI version, or duplicate name
  attribute_missing = 307,     ///< engine lookup: no such attribute
  already_owned = 308,         ///< second initialise of the same object
  foreign_parameter = 309,     ///< the optimizer's, but not the model's
  unsharded_parameter = 310,   ///< made outside the factory
  // rollout and cache
  capacity_exceeded = 401, ///< needed against allowed, with the remedies
  refused_by_state = 402,  ///< machine, state and event are in the text
  memory_refused = 403,    ///< names the holder and the bytes
  weights_torn = 404,
  invalid_request = 405,  ///< shapes, empty prompts, duplicate ids
  nonfinite_logits = 406, ///< no token can be drawn: names group and position
  // rewards
  reward_failed = 501,  ///< a function threw, died or gave a non-number
  reward_timeout = 502, ///< a function did not return in time
  // training
  nonfinite_loss = 601, ///< more steps in a row than allowed
  // checkpoints
  checkpoint_corrupt = 701,  ///< checksum or file missing
  checkpoint_mismatch = 702, ///< of another job or model
  checkpoint_absent = 703,
  io_failed = 704, ///< the operating system refused: path and errno
  // processes, actors, transport
  process_lost = 801,      ///< names the process, its last state and the cause
  deadline_exceeded = 802, ///< on what, since when, until which deadline
  message_too_large = 803, ///< a CAF message above 64 KiB
  frame_corrupt = 804,     ///< checksum, length or kind
  peer_gone = 805,
  epoch_stale = 806,
  aborted = 807,         ///< by the operator, or after a failure elsewhere
  shutting_down = 808,   ///< admission is closed
  journal_illegal = 809, ///< a record that is not an edge of its table
  internal = 901,        ///< a library threw; the text is its own
};

/// Returns the enumerator's name, "unknown" for a number that is none.
std::string_view to_string(errc code);

/// True if the same request may succeed later without anyone changing
/// anything.
bool is_retryable(errc code);

/// A typed error with the causes behind it, the first one last.
class failure : public std::runtime_error {
public:
  failure(errc code, const std::string& text)
    : std::runtime_error(text), code_(code) {}

  failure(errc code, const std::string& text, const failure& cause);

  /// As it came over a wire. `causes`: as causes() returns them.
  failure(errc code, const std::string& text, std::vector<std::string> causes)
    : std::runtime_error(text), code_(code), causes_(std::move(causes)) {}

  [[nodiscard]] errc code() const noexcept { return code_; }

  /// Returns "code: text" of each cause, nearest first.
  [[nodiscard]] const std::vector<std::string>& causes() const noexcept {
    return causes_;
  }

  /// Returns the text, then each cause on a line of its own.
  [[nodiscard]] std::string chain() const;

private:
  errc code_;
  std::vector<std::string> causes_;
};

/// Ends the process with the text of a broken contract of ours.
[[noreturn]] void assertion_failed(const char* condition, const char* text,
                                   const char* file, int line);

} // namespace troupe::protocols

/// A contract between our own parts; never reachable from input. The text
/// starts with the invariant's id.
#define TROUPE_ASSERT(condition, text)                                         \
  ((condition) ? void()                                                        \
               : ::troupe::protocols::assertion_failed(#condition, text,       \
                                                       __FILE__, __LINE__))
