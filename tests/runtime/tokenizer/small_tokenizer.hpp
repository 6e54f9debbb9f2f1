// SPDX-License-Identifier: Apache-2.0
//
// A tokenizer.json to vary: the bytes, a few merges, three added tokens.
#pragma once

#include "runtime/tokenizer/byte_alphabet.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/support/temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace troupe::tests {

/// Ids: bytes 0-255, then "he" 256, "ll" 257, "hell" 258, "hello" 259,
/// " hello" 260, "<s>" 261, "</s>" 262, "<tool>" 263 (not special).
inline nlohmann::json small_tokenizer() {
  nlohmann::json vocab;
  for (int byte = 0; byte < 256; ++byte)
    vocab[runtime::tokenizer::spell_bytes(
      std::string(1, static_cast<char>(byte)))] = byte;
  auto id = 256;
  for (const auto* token : {"he", "ll", "hell", "hello", "\u0120hello"})
    vocab[token] = id++;
  nlohmann::json added = nlohmann::json::array();
  for (const auto* token : {"<s>", "</s>", "<tool>"})
    added.push_back({{"id", id++},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", std::string{token} != "<tool>"}});
  const nlohmann::json byte_level = {{"type", "ByteLevel"},
                                     {"add_prefix_space", false},
                                     {"trim_offsets", true},
                                     {"use_regex", true}};
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", vocab},
            {"merges", nlohmann::json::parse(R"([["h", "e"], ["l", "l"],
              ["he", "ll"], ["hell", "o"], ["\u0120", "hello"]])")}}}};
}

/// Takes a token out of the vocabulary, whose size and ids stay.
inline void rename_token(nlohmann::json& content, const std::string& token,
                         const std::string& other) {
  auto& vocab = content["model"]["vocab"];
  vocab[other] = vocab[token];
  vocab.erase(token);
}

/// Loads `content` as a file of `folder`.
inline runtime::tokenizer::tokenizer load(const temporary_folder& folder,
                                          const nlohmann::json& content) {
  write_file(folder / "tokenizer.json", content.dump());
  return runtime::tokenizer::tokenizer::load(folder.path());
}

} // namespace troupe::tests
