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
using troupe::tests::rename_token;
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
    "; supported are null, ByteLevel, Digits, Split, Whitespace, "
    "WhitespaceSplit, Punctuation, Metaspace, Sequence";
  const std::string forms =
    "; supported are null, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, "
    "Replace, Prepend, Strip, ByteLevel, Sequence";
  const std::vector<row> rows{
    {"/model/type", R"("Unigram")",
     "model.type is \"Unigram\"; supported is BPE"},
    {"/model/dropout", "0.1", "model.dropout is 0.1; supported is null"},
    {"/model/end_of_word_suffix", R"("</w>")",
     "model.end_of_word_suffix is \"</w>\"; supported is null"},
    {"/normalizer", R"({"type":"Precompiled"})",
     "normalizer.type is \"Precompiled\"" + forms},
    {"/normalizer", R"({"type":"Sequence","normalizers":[{"type":"Nmt"}]})",
     "normalizer.normalizers[0].type is \"Nmt\"" + forms},
    {"/normalizer", R"({"type":"Prepend","prepend":""})",
     "normalizer.prepend is \"\"; supported is a text that is not empty"},
    {"/normalizer",
     R"({"type":"Replace","pattern":{"Regex":"a*"},"content":""})",
     "normalizer.pattern.Regex is a*; supported is an expression that never "
     "matches nothing"},
    {"/pre_tokenizer", R"({"type":"UnicodeScripts"})",
     "pre_tokenizer.type is \"UnicodeScripts\"" + steps},
    {"/pre_tokenizer",
     R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},)"
     R"({"type":"CharDelimiterSplit"}]})",
     "pre_tokenizer.pretokenizers[1].type is \"CharDelimiterSplit\"" + steps},
    {"/pre_tokenizer",
     R"({"type":"Split","pattern":{"String":" "},"behavior":"Kept"})",
     "pre_tokenizer.behavior is \"Kept\"; supported are Isolated, Removed, "
     "MergedWithPrevious, MergedWithNext, Contiguous"},
    {"/pre_tokenizer",
     R"({"type":"Split","pattern":{"String":""},"behavior":"Removed"})",
     "pre_tokenizer.pattern.String is \"\"; supported is what is not empty"},
    {"/pre_tokenizer",
     R"({"type":"Metaspace","replacement":"_","prepend_scheme":"last"})",
     "pre_tokenizer.prepend_scheme is \"last\"; supported are always, first, "
     "never"},
    {"/pre_tokenizer",
     R"({"type":"Sequence","pretokenizers":[{"type":"Split",)"
     R"("pattern":{"Regex":"\\h+"},"behavior":"Isolated"},)"
     R"({"type":"ByteLevel"}]})",
     "pre_tokenizer.pretokenizers[0].pattern.Regex \\h+ uses \\h; supported is "
     "what docs/tokenizers.md lists"},
    {"/post_processor", R"({"type":"Pair"})",
     "post_processor.type is \"Pair\"; supported are null, ByteLevel, "
     "TemplateProcessing, RobertaProcessing, BertProcessing, Sequence"},
    {"/post_processor", R"({"type":"TemplateProcessing","single":[]})",
     "post_processor.single is []; supported is a template with one A"},
    {"/decoder", R"({"type":"WordPiece"})",
     "decoder.type is \"WordPiece\"; supported are null, ByteLevel, "
     "ByteFallback, Fuse, Replace, Strip, Metaspace, Sequence"},
    {"/decoder",
     R"({"type":"Sequence","decoders":[{"type":"Fuse"},)"
     R"({"type":"ByteFallback"}]})",
     "decoder is ByteFallback after the tokens are one; supported is "
     "ByteFallback before Fuse"},
  };
  for (const auto& [where, value, expected] : rows) {
    auto content = small_tokenizer();
    content[json::json_pointer{where}] = json::parse(value);
    CHECK(failure_of([&] { load(folder, content); })
          == "tokenizer_unsupported: " + file + ": " + expected);
  }
}

TEST_CASE("byte fallback is refused where bytes are the symbols already") {
  const temporary_folder folder;
  auto content = small_tokenizer();
  content["model"]["byte_fallback"] = true;
  load(folder, content);
  rename_token(content, "z", "zz");
  CHECK(failure_of([&] { load(folder, content); })
        == "tokenizer_unsupported: " + (folder / "tokenizer.json").string()
             + ": model.byte_fallback is true; supported is false where bytes "
               "are the symbols and one, z, has no token");
}

TEST_CASE("ids that `tokenizers` would not give are refused") {
  const temporary_folder folder;
  const auto file = (folder / "tokenizer.json").string();
  auto content = small_tokenizer();
  content["added_tokens"][1]["id"] = 270;
  CHECK(
    failure_of([&] { load(folder, content); })
    == "tokenizer_unreadable: " + file
         + ": added_tokens gives id 270 to </s>, but it follows 262 tokens: "
           "`tokenizers` would number it so");
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
     "model.merges[0] needs \"ho\", which is not in model.vocab"},
    {"/model/merges", R"([["","h"]])",
     "model.merges[0] needs \"\", which is not in model.vocab"},
    {"/model/byte_fallback", "1",
     "model.byte_fallback is 1, not true or false"},
    {"/normalizer", R"({"type":"Strip","strip_left":true})",
     "normalizer.strip_right is missing"},
    {"/pre_tokenizer", R"({"type":"Metaspace","replacement":"ab"})",
     "pre_tokenizer.replacement is \"ab\", not one character"},
    {"/pre_tokenizer",
     R"({"type":"Split","pattern":{"Regex":"(a"},"behavior":"Removed"})",
     "pre_tokenizer.pattern.Regex (a: missing closing parenthesis at offset "
     "2"},
    {"/post_processor",
     R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<b>"}}],)"
     R"("special_tokens":{}})",
     "post_processor.special_tokens.<b> is missing"},
    {"/post_processor",
     R"({"type":"BertProcessing","cls":["<s>",261],"sep":["</s>",999]})",
     "post_processor adds id 999, which is of no token"},
    {"/decoder", R"({"type":"Strip","content":"a","start":-1,"stop":0})",
     "decoder.start is -1, not a count"},
    {"/decoder", "[]", "decoder.type is missing"},
    {"/model/ignore_merges", "1",
     "model.ignore_merges is 1, not true or false"},
    {"/model/vocab/he", "9999999",
     "model.vocab gives id 9999999 to he, but with so few tokens ids end at "
     "66592"},
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

TEST_CASE("SentencePiece's own file is refused with the way out") {
  const temporary_folder folder;
  write_file(folder / "tokenizer.model", "");
  CHECK(failure_of(
          [&] { troupe::runtime::tokenizer::tokenizer::load(folder.path()); })
        == "tokenizer_unsupported: " + (folder / "tokenizer.model").string()
             + ": SentencePiece's format; supported is tokenizer.json. To "
               "convert: transformers.AutoTokenizer.from_pretrained(FOLDER)"
               ".save_pretrained(FOLDER)");
  load(folder, small_tokenizer()); // which is taken where both are
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
