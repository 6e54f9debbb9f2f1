// SPDX-License-Identifier: Apache-2.0
//
// tokenizer.json as plain data: read, checked, nothing built yet. Text of the
// model points into the parsed file, which `memory` keeps.
#pragma once

#include "runtime/tokenizer/tokenizer_steps.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::runtime::tokenizer {

/// A token that is found in the text before anything else.
struct added_token {
  std::string text;
  std::int32_t id = 0;
  bool is_special = false;
  bool is_normalized = false; ///< searched after normalisation
  bool strips_left = false;   ///< takes white space before it
  bool strips_right = false;
  bool is_single_word = false; ///< only between characters that are no \w
};

struct bpe_spec {
  std::vector<std::pair<std::string_view, std::int32_t>> vocab;
  std::vector<std::pair<std::string_view, std::string_view>> merges;
  std::optional<std::string_view> unk_token;
  bool fuses_unk = false;
  bool ignores_merges = false; ///< a word that is a token stays one
  bool falls_back_to_bytes = false;
};

struct tokenizer_spec {
  std::filesystem::path file;
  bpe_spec bpe;
  std::vector<added_token> added;
  std::vector<normalizer_step> normalizer;
  std::vector<pre_tokenizer_step> pre_tokenizer;
  std::vector<post_processor_step> post_processor;
  std::optional<std::vector<decoder_step>> decoder; ///< none: spaces between
  std::shared_ptr<void> memory;
};

/// Names of special tokens as tokenizer_config.json spells them.
struct special_names {
  std::optional<std::string> bos, eos, pad, unk;
};

/// Errors: tokenizer_unreadable, tokenizer_unsupported (see tokenizer.hpp).
tokenizer_spec read_tokenizer_spec(const std::filesystem::path& file);

/// Reads tokenizer_config.json; a missing file names none.
special_names read_special_names(const std::filesystem::path& file);

/// Throws tokenizer_unreadable: "FILE: REASON".
[[noreturn]] void refuse_file(const std::filesystem::path& file,
                              const std::string& reason);

/// Throws tokenizer_unsupported: "FILE: COMPONENT is VALUE; supported ALLOWED".
[[noreturn]] void refuse_component(const std::filesystem::path& file,
                                   const std::string& component,
                                   const std::string& value,
                                   const std::string& allowed);

} // namespace troupe::runtime::tokenizer
