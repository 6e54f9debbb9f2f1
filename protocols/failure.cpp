// SPDX-License-Identifier: Apache-2.0
#include "protocols/failure.hpp"

#include <cstdio>
#include <cstdlib>

namespace troupe::protocols {

std::string_view to_string(errc code) {
  switch (code) {
  case errc::none: return "none";
  case errc::config_unknown_key: return "config_unknown_key";
  case errc::config_unused_key: return "config_unused_key";
  case errc::config_wrong_type: return "config_wrong_type";
  case errc::config_out_of_range: return "config_out_of_range";
  case errc::config_missing_key: return "config_missing_key";
  case errc::config_conflict: return "config_conflict";
  case errc::config_unreadable: return "config_unreadable";
  case errc::unsupported: return "unsupported";
  case errc::data_unreadable: return "data_unreadable";
  case errc::data_bad_row: return "data_bad_row";
  case errc::data_empty: return "data_empty";
  case errc::prompt_too_long: return "prompt_too_long";
  case errc::model_unreadable: return "model_unreadable";
  case errc::model_unsupported: return "model_unsupported";
  case errc::model_mismatch: return "model_mismatch";
  case errc::tokenizer_unreadable: return "tokenizer_unreadable";
  case errc::tokenizer_unsupported: return "tokenizer_unsupported";
  case errc::plugin_refused: return "plugin_refused";
  case errc::attribute_missing: return "attribute_missing";
  case errc::already_owned: return "already_owned";
  case errc::foreign_parameter: return "foreign_parameter";
  case errc::unsharded_parameter: return "unsharded_parameter";
  case errc::capacity_exceeded: return "capacity_exceeded";
  case errc::refused_by_state: return "refused_by_state";
  case errc::memory_refused: return "memory_refused";
  case errc::weights_torn: return "weights_torn";
  case errc::invalid_request: return "invalid_request";
  case errc::nonfinite_logits: return "nonfinite_logits";
  case errc::reward_failed: return "reward_failed";
  case errc::reward_timeout: return "reward_timeout";
  case errc::nonfinite_loss: return "nonfinite_loss";
  case errc::checkpoint_corrupt: return "checkpoint_corrupt";
  case errc::checkpoint_mismatch: return "checkpoint_mismatch";
  case errc::checkpoint_absent: return "checkpoint_absent";
  case errc::io_failed: return "io_failed";
  case errc::process_lost: return "process_lost";
  case errc::deadline_exceeded: return "deadline_exceeded";
  case errc::message_too_large: return "message_too_large";
  case errc::frame_corrupt: return "frame_corrupt";
  case errc::peer_gone: return "peer_gone";
  case errc::epoch_stale: return "epoch_stale";
  case errc::aborted: return "aborted";
  case errc::shutting_down: return "shutting_down";
  case errc::journal_illegal: return "journal_illegal";
  case errc::internal: return "internal";
  }
  return "unknown";
}

bool is_retryable(errc code) {
  switch (code) {
  case errc::memory_refused:
  case errc::reward_timeout:
  case errc::deadline_exceeded:
  case errc::peer_gone: return true;
  default: return false;
  }
}

failure::failure(errc code, const std::string& text, const failure& cause)
  : std::runtime_error(text), code_(code) {
  causes_.push_back(std::string{to_string(cause.code())} + ": " + cause.what());
  causes_.insert(causes_.end(), cause.causes_.begin(), cause.causes_.end());
}

std::string failure::chain() const {
  std::string out = what();
  for (const auto& cause : causes_)
    out += "\n  caused by " + cause;
  return out;
}

void assertion_failed(const char* condition, const char* text, const char* file,
                      int line) {
  std::fprintf(stderr, "troupe: broken contract: %s (%s) at %s:%d\n", text,
               condition, file, line);
  std::abort();
}

} // namespace troupe::protocols
