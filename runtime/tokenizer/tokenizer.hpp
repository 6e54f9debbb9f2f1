// SPDX-License-Identifier: Apache-2.0
//
// Text to token ids and back, as tokenizer.json says: BPE, equal to Hugging
// Face's `tokenizers` token for token. What of the format is taken, and where
// regular expressions differ: docs/tokenizers.md.
#pragma once

#include "runtime/tokenizer/decode_state.hpp"
#include "runtime/tokenizer/text_span.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::tokenizer {

/// Whether decoding shows tokens that are marked special.
enum class special_tokens : std::uint8_t { keep, skip };

/// Whether encoding adds what the post-processor's template adds (as in a
/// leading BOS). Text rendered by a chat template has it already.
enum class template_tokens : std::uint8_t { add, omit };

/// Ids, and the bytes of the text that each stands for. What the template adds
/// stands for none: {0, 0}.
struct encoding {
  std::vector<std::int32_t> ids;
  std::vector<text_span> spans;
};

/// Ids that tokenizer_config.json names.
struct special_ids {
  std::optional<std::int32_t> bos, eos, pad, unk;
};

/// Immutable but for a cache of words. Cheap to copy: copies share.
/// Thread: any.
class tokenizer {
public:
  /// Reads a folder with tokenizer.json (tokenizer_config.json beside it is
  /// optional), or such a file itself.
  /// Errors: tokenizer_unreadable (file, reason); tokenizer_unsupported (file,
  /// component, value, allowed).
  static tokenizer load(const std::filesystem::path& file_or_folder);

  /// Encodes UTF-8; special tokens written out in the text become their ids.
  /// A broken sequence counts as U+FFFD.
  [[nodiscard]] std::vector<std::int32_t>
  encode(std::string_view text,
         template_tokens templated = template_tokens::add) const;

  /// As encode(), slower. Spans hold whole characters; where the text is
  /// broken, they are those of the text with U+FFFD in place.
  [[nodiscard]] encoding
  encode_with_spans(std::string_view text,
                    template_tokens templated = template_tokens::add) const;

  /// Decodes to valid UTF-8: broken sequences become U+FFFD. Ids that are no
  /// token are left out.
  [[nodiscard]] std::string
  decode(std::span<const std::int32_t> ids,
         special_tokens shown = special_tokens::keep) const;

  /// Returns one past the largest id, added tokens included.
  [[nodiscard]] std::int32_t vocab_size() const;

  /// Returns the id of a token as tokenizer.json spells it.
  [[nodiscard]] std::optional<std::int32_t> id_of(std::string_view token) const;

  /// Returns the bytes a token stands for, by itself: a byte token is as it is
  /// spelled. Nothing for an id that is none.
  [[nodiscard]] std::string_view bytes_of(std::int32_t id) const;

  [[nodiscard]] bool is_special(std::int32_t id) const;

  [[nodiscard]] const special_ids& specials() const;

private:
  friend class decode_stream;
  struct content;
  explicit tokenizer(std::shared_ptr<const content> made);
  std::shared_ptr<const content> content_;
};

/// Decodes token by token. What it returns, joined, equals decode() of all
/// ids, and no piece ends inside a character. Text comes when it is certain: a
/// run of byte tokens when it ends.
class decode_stream {
public:
  explicit decode_stream(tokenizer used,
                         special_tokens shown = special_tokens::keep);

  /// Returns the text that is certain now; often nothing.
  std::string push(std::int32_t id);

  /// Returns what is left, as U+FFFD for a character cut off. The stream
  /// starts anew.
  std::string finish();

private:
  tokenizer tokenizer_;
  special_tokens shown_;
  decode_state state_;
};

/// Copies the files that make a tokenizer (tokenizer.json, its configuration,
/// chat template), so that a saved model folder is complete.
/// Errors: io_failed; tokenizer_unreadable (no tokenizer.json).
void copy_tokenizer_files(const std::filesystem::path& from,
                          const std::filesystem::path& to_folder);

} // namespace troupe::runtime::tokenizer
