// SPDX-License-Identifier: Apache-2.0
//
// The steps that the parts of tokenizer.json are made of, as data. Sequences
// are flat here: their order is all that they say.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace troupe::runtime::tokenizer {

/// What Split and Replace look for.
struct text_pattern {
  std::string text;
  bool is_regex = false;
  std::string where; ///< path in the file, for error texts
};

/// Replaces each match.
struct replace_step {
  text_pattern pattern;
  std::string content;
};

// Normalizers.

enum class normal_form : std::uint8_t { nfc, nfd, nfkc, nfkd };
struct form_step {
  normal_form form;
};
struct lowercase_step {};
struct strip_accents_step {}; ///< drops all marks
struct prepend_step {
  std::string text; ///< not empty
};
/// Drops white space at the ends.
struct strip_step {
  bool strips_left, strips_right;
};
struct spell_bytes_step {}; ///< the normalizer ByteLevel
using normalizer_step =
  std::variant<form_step, lowercase_step, strip_accents_step, replace_step,
               prepend_step, strip_step, spell_bytes_step>;

// Pre-tokenizers.

/// What becomes of the matches that a text is cut at.
enum class split_behavior : std::uint8_t {
  isolated,
  removed,
  merged_with_previous,
  merged_with_next,
  contiguous, ///< neighbouring matches are one piece
};
/// Cuts at numeric characters: each alone, or in runs.
struct digits_step {
  bool is_individual = false;
};
struct split_step {
  text_pattern pattern;
  split_behavior behavior = split_behavior::isolated;
  bool inverts = false; ///< what lies between the matches counts as match
};
struct whitespace_step {};       ///< keeps runs of \w and of other characters
struct whitespace_split_step {}; ///< drops white space
struct punctuation_step {
  split_behavior behavior = split_behavior::isolated;
};
enum class prepend_scheme : std::uint8_t { always, first, never };
struct metaspace_step {
  std::string replacement; ///< one character
  prepend_scheme prepends = prepend_scheme::always;
  bool splits = true;
};
struct byte_level_step {
  bool adds_prefix_space = false;
  bool uses_gpt2_pattern = true;
};
using pre_tokenizer_step =
  std::variant<digits_step, split_step, whitespace_step, whitespace_split_step,
               punctuation_step, metaspace_step, byte_level_step>;

// Post-processors.

/// Takes white space off the spans of tokens, never off the tokens.
struct trim_spans_step {
  bool adds_prefix_space = false; ///< one leading space was added, not read
};
/// Ids around the text.
struct template_step {
  std::vector<std::int32_t> before, after;
};
using post_processor_step = std::variant<trim_spans_step, template_step>;

// Decoders, on a list of token texts.

struct byte_level_decode {};
struct byte_fallback_decode {}; ///< runs of "<0x41>" become their characters
struct fuse_decode {};
/// Drops up to so many of one character at the ends of each text.
struct strip_decode {
  std::string content; ///< one character
  std::size_t max_at_start = 0;
  std::size_t max_at_end = 0;
};
struct metaspace_decode {
  std::string replacement;
  bool drops_first = true; ///< in the first token
};
using decoder_step =
  std::variant<byte_level_decode, byte_fallback_decode, fuse_decode,
               replace_step, strip_decode, metaspace_decode>;

} // namespace troupe::runtime::tokenizer
