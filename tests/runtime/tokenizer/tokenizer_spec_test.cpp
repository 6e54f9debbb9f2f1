// SPDX-License-Identifier: Apache-2.0
//
// What tokenizer.json may hold: each refusal names file, component, value.
#include "runtime/tokenizer/tokenizer_spec.hpp"

#include "tests/runtime/tokenizer/small_tokenizer.hpp"
#include "tests/support/failure_of.hpp"

#include "tests/support/doctest.hpp"

using nlohmann::json;
using troupe::tests::contains;
using troupe::tests::failure_of;
using troupe::tests::load;
using troupe::tests::small_tokenizer;
using troupe::tests::temporary_folder;
using troupe::tests::write_file;

TEST_SUITE_BEGIN("runtime.tokenizer.tokenizer_spec");

TEST_CASE("components that would change ids are refused by name") {
  const temporary_folder folder;
  const auto file = (folder / "tokenizer.json").string();
  struct row {
    const char* where; ///< JSON pointer
    const char* value; ///< JSON
    std::string expected;
  };
  const std::string steps =
    "; supported are ByteLevel, Digits, Split, Sequence";
  const std::string forms =
    "; supported are null, NFC, NFD, NFKC, NFKD, Sequence";
  const std::string byte_level =
    "; supported is ByteLevel, alone or last in a Sequence";
  const std::vector<row> rows{
    {"/model/type", R"("Unigram")",
     "model.type is \"Unigram\"; supported is BPE on bytes"},
    {"/model/byte_fallback", "true",
     "model.byte_fallback is true; supported is false"},
    {"/model/dropout", "0.1", "model.dropout is 0.1; supported is null"},
    {"/model/end_of_word_suffix", R"("</w>")",
     "model.end_of_word_suffix is \"</w>\"; supported is null"},
    {"/normalizer", R"({"type":"Lowercase"})",
     "normalizer.type is \"Lowercase\"" + forms},
    {"/normalizer", R"({"type":"Sequence","normalizers":[{"type":"Strip"}]})",
     "normalizer.normalizers[0].type is \"Strip\"" + forms},
    {"/pre_tokenizer", "null", "pre_tokenizer is null" + byte_level},
    {"/pre_tokenizer", R"({"type":"Metaspace"})",
     "pre_tokenizer.type is \"Metaspace\"" + steps},
    {"/pre_tokenizer", R"({"type":"Digits"})",
     "pre_tokenizer is {\"type\":\"Digits\"}" + byte_level},
    {"/pre_tokenizer",
     R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},)"
     R"({"type":"Digits"}]})",
     "pre_tokenizer.pretokenizers[1] is {\"type\":\"Digits\"}; supported is "
     "nothing after ByteLevel"},
    {"/pre_tokenizer",
     R"({"type":"Split","pattern":{"String":" "},"behavior":"Contiguous"})",
     "pre_tokenizer.behavior is \"Contiguous\"; supported are Isolated, "
     "Removed"},
    {"/pre_tokenizer",
     R"({"type":"Sequence","pretokenizers":[{"type":"Split",)"
     R"("pattern":{"Regex":"\\h+"},"behavior":"Isolated"},)"
     R"({"type":"ByteLevel"}]})",
     "regular expression \\h+ uses \\h; supported is what docs/tokenizers.md "
     "lists"},
    {"/post_processor", R"({"type":"RobertaProcessing"})",
     "post_processor.type is \"RobertaProcessing\"; supported are null, "
     "ByteLevel, TemplateProcessing, Sequence"},
    {"/decoder", R"({"type":"WordPiece"})",
     "decoder.type is \"WordPiece\"; supported is ByteLevel"},
    {"/decoder", "null", "decoder is null; supported is ByteLevel"},
  };
  for (const auto& [where, value, expected] : rows) {
    auto content = small_tokenizer();
    content[json::json_pointer{where}] = json::parse(value);
    CHECK(failure_of([&] { load(folder, content); })
          == "tokenizer_unsupported: " + file + ": " + expected);
  }
}

TEST_CASE("fused unknown tokens are refused where a byte has no token") {
  const temporary_folder folder;
  auto content = small_tokenizer();
  content["model"]["unk_token"] = "<s>";
  content["model"]["fuse_unk"] = true;
  load(folder, content);
  content["model"]["vocab"].erase("z");
  CHECK(failure_of([&] { load(folder, content); })
        == "tokenizer_unsupported: " + (folder / "tokenizer.json").string()
             + ": model.fuse_unk is true; supported is false where a byte has "
               "no token");
}

TEST_CASE("malformed files are named with the place") {
  const temporary_folder folder;
  const auto file = (folder / "tokenizer.json").string();
  struct row {
    const char* where;
    const char* value; ///< JSON
    std::string expected;
  };
  const std::vector<row> rows{
    {"/model/vocab", "[1]", "model.vocab is [1], not an object"},
    {"/model/vocab/he", "-1", "model.vocab.he is -1, not a token id"},
    {"/model/vocab/he", "1.5", "model.vocab.he is 1.5, not a token id"},
    {"/model/vocab/he", "104",
     "model.vocab gives id 104 to he, but that id is of h"},
    {"/model/merges", R"([["h"]])",
     "model.merges is [[\"h\"]], not a list of \"left right\" or pairs"},
    {"/model/merges", R"(["h e l"])",
     "model.merges is [\"h e l\"], not a list of \"left right\" or pairs"},
    {"/model/merges", R"([["h","o"]])",
     "model.merges[0] needs ho, which is not in model.vocab"},
    {"/model/ignore_merges", "1",
     "model.ignore_merges is 1, not true or false"},
    {"/added_tokens/0/id", "300000000",
     "added_tokens[0].id is 300000000, not a token id"},
    {"/added_tokens/0/content", R"("he")",
     "added_tokens gives id 261 to he, but that token has id 256"},
    {"/added_tokens/0/content", "null", "added_tokens[0].content is missing"},
    {"/model", "null", "model is missing"},
  };
  for (const auto& [where, value, expected] : rows) {
    auto content = small_tokenizer();
    content[json::json_pointer{where}] = json::parse(value);
    CHECK(failure_of([&] { load(folder, content); })
          == "tokenizer_unreadable: " + file + ": " + expected);
  }
  write_file(file, "{\"model\": ");
  CHECK(contains(
    failure_of([&] { troupe::runtime::tokenizer::read_tokenizer_spec(file); }),
    "tokenizer_unreadable: " + file + ": no JSON: "));
  CHECK(failure_of([] {
          troupe::runtime::tokenizer::tokenizer::load("/no/tokenizer.json");
        })
        == "tokenizer_unreadable: /no/tokenizer.json: no such file, or not "
           "readable");
}

TEST_CASE("a special token that the vocabulary lacks is named") {
  const temporary_folder folder;
  write_file(folder / "tokenizer_config.json", R"({"pad_token": "[PAD]"})");
  CHECK(failure_of([&] { load(folder, small_tokenizer()); })
        == "tokenizer_unreadable: "
             + (folder / "tokenizer_config.json").string()
             + ": pad_token is [PAD], which is not in "
             + (folder / "tokenizer.json").string());
}

TEST_SUITE_END();
