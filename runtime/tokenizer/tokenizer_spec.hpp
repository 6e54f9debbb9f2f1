// SPDX-License-Identifier: Apache-2.0
//
// tokenizer.json as plain data: read, checked, nothing built yet. Text points
// into the parsed file, which `memory` keeps.
#pragma once

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

enum class normal_form : std::uint8_t { nfc, nfd, nfkc, nfkd };

/// Cuts at numeric characters: each alone, or in runs.
struct digits_step {
  bool is_individual = false;
};

/// Cuts at matches; what is a match is kept as a piece, or dropped.
struct split_step {
  std::string pattern;
  bool is_regex = false;
  bool keeps_matches = true;
  bool keeps_gaps = true;
};

/// One step of pre-tokenisation, in order; ByteLevel's are the last.
struct pre_tokenizer_spec {
  struct step {
    std::optional<digits_step> digits;
    std::optional<split_step> split; ///< else
  };
  std::vector<step> steps;
  bool adds_prefix_space = false; ///< of ByteLevel, before its expression
  bool uses_gpt2_pattern = true;  ///< of ByteLevel
};

struct bpe_spec {
  std::vector<std::pair<std::string_view, std::int32_t>> vocab;
  std::vector<std::pair<std::string_view, std::string_view>> merges;
  std::optional<std::string_view> unk_token;
  bool fuses_unk = false;
  bool ignores_merges = false; ///< a word that is a token stays one
};

struct tokenizer_spec {
  std::filesystem::path file;
  bpe_spec bpe;
  std::vector<added_token> added;
  std::vector<normal_form> normal_forms;
  pre_tokenizer_spec pre_tokenizer;
  std::vector<std::int32_t> template_before; ///< ids around the text
  std::vector<std::int32_t> template_after;
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
