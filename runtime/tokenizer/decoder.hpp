// SPDX-License-Identifier: Apache-2.0
//
// The decoders of tokenizer.json, token by token. What a step needs of later
// tokens waits in the state: the same code decodes at once and as a stream.
#pragma once

#include "runtime/tokenizer/decode_state.hpp"
#include "runtime/tokenizer/pattern.hpp"
#include "runtime/tokenizer/tokenizer_steps.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::tokenizer {

/// Immutable. Thread: any, each with its state.
class decoder {
public:
  /// `steps`: none puts spaces between tokens. `spellings`: of all ids.
  /// Errors: tokenizer_unsupported (a regular expression, an order of steps).
  decoder(const std::optional<std::vector<decoder_step>>& steps,
          const std::vector<std::string_view>& spellings,
          const std::filesystem::path& file);

  [[nodiscard]] decode_state begin() const;

  /// Appends the text that is certain with this token.
  void push(decode_state& now, std::int32_t id, std::string& out) const;

  /// Appends the rest; `now` begins anew.
  void finish(decode_state& now, std::string& out) const;

  /// Returns what a token stands for before steps that see more than it; a
  /// byte token is its byte.
  [[nodiscard]] std::string_view text_of(std::int32_t id) const;

  /// Returns whether decoding joins text_of() and repairs what is broken.
  [[nodiscard]] bool only_joins_bytes() const {
    return joins_bytes_ && middle_.empty() && after_.empty();
  }

private:
  struct built_step {
    decoder_step spec;
    std::optional<match_finder> matches; ///< of a replace_step
  };

  void read_steps(const std::vector<decoder_step>& steps,
                  const std::filesystem::path& file);
  void read_texts(const std::vector<std::string_view>& spellings);
  [[nodiscard]] std::string change(const built_step& how,
                                   std::string_view token, bool is_first) const;
  void push_from(decode_state& now, std::size_t index, std::string_view token,
                 std::string& out) const;
  void end_run(decode_state& now, std::size_t index, std::string& out) const;
  void join(decode_state& now, std::string_view token, std::string& out) const;
  void emit(decode_state& now, std::string_view text, std::string& out) const;

  std::vector<built_step> before_; ///< each token by itself: done once, at load
  std::vector<built_step> middle_; ///< in the order of tokens
  std::vector<built_step> after_;  ///< on the text, once joined
  bool joins_bytes_ = false;
  bool puts_spaces_ = false;
  bool waits_for_end_ = false; ///< steps of after_ need the whole text
  std::string texts_;          ///< of all ids, after before_
  std::vector<std::size_t> begins_;
};

} // namespace troupe::runtime::tokenizer
