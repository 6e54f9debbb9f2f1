// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/tokenizer.hpp"

#include "tests/runtime/tokenizer/small_tokenizer.hpp"

#include <algorithm>
#include <thread>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::tokenizer;
using troupe::tests::load;
using troupe::tests::rename_token;
using troupe::tests::small_tokenizer;
using troupe::tests::temporary_folder;
using troupe::tests::write_file;

namespace {

using ids = std::vector<std::int32_t>;

ids encode_with(const nlohmann::json& content, const std::string& text) {
  const temporary_folder folder;
  return load(folder, content).encode(text);
}

} // namespace

TEST_SUITE_BEGIN("runtime.tokenizer.tokenizer");

TEST_CASE("merges apply in the order of the file") {
  const auto content = small_tokenizer();
  CHECK(encode_with(content, "hello hello") == ids{259, 260});
  CHECK(encode_with(content, "hellhe") == ids{258, 256});
  CHECK(encode_with(content, "helo") == ids{256, 'l', 'o'});
  CHECK(encode_with(content, "") == ids{});
  CHECK(encode_with(content, "\n") == ids{'\n'});
}

TEST_CASE("merges spelled as one text mean the same") {
  auto content = small_tokenizer();
  auto& merges = content["model"]["merges"];
  for (auto& merge : merges)
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  CHECK(encode_with(content, "hello hello") == ids{259, 260});
}

TEST_CASE("ignore_merges takes a word that is a token as it is") {
  auto content = small_tokenizer();
  content["model"]["merges"] = nlohmann::json::array();
  CHECK(encode_with(content, "hell") == ids{'h', 'e', 'l', 'l'});
  content["model"]["ignore_merges"] = true;
  CHECK(encode_with(content, "hell") == ids{258});
  CHECK(encode_with(content, "hel") == ids{'h', 'e', 'l'});
}

TEST_CASE("a byte without token is left out, or unknown") {
  auto content = small_tokenizer();
  rename_token(content, "z", "zz");
  CHECK(encode_with(content, "azb") == ids{'a', 'b'});
  content["model"]["unk_token"] = "he";
  CHECK(encode_with(content, "azzb") == ids{'a', 256, 256, 'b'});
  content["model"]["fuse_unk"] = true;
  CHECK(encode_with(content, "azzb") == ids{'a', 256, 'b'});
}

TEST_CASE("added tokens in the text are found first, the longest one") {
  auto content = small_tokenizer();
  CHECK(encode_with(content, "he<s>hello</s><s")
        == ids{256, 261, 259, 262, '<', 's'});
  content["added_tokens"].push_back(
    {{"id", 264}, {"content", "<s>h"}, {"normalized", false}});
  CHECK(encode_with(content, "<s>he") == ids{264, 'e'});
}

TEST_CASE("added tokens strip and keep to words as they say") {
  auto content = small_tokenizer();
  auto& tool = content["added_tokens"][2];
  SUBCASE("plain") {
    CHECK(encode_with(content, "a \t<tool> \nb")
          == ids{'a', ' ', '\t', 263, ' ', '\n', 'b'});
  }
  SUBCASE("left") {
    tool["lstrip"] = true;
    CHECK(encode_with(content, "a \t<tool> b") == ids{'a', 263, ' ', 'b'});
    CHECK(encode_with(content, "<s> <tool>") == ids{261, 263});
  }
  SUBCASE("right, with spaces beyond ASCII") {
    tool["rstrip"] = true;
    CHECK(encode_with(content, "a <tool> \u3000\u00a0b")
          == ids{'a', ' ', 263, 'b'});
  }
  SUBCASE("single word") {
    tool["single_word"] = true;
    CHECK(encode_with(content, "a<tool>").size() == 7);
    CHECK(encode_with(content, "<tool>\u00e9").size() == 8);
    CHECK(encode_with(content, ".<tool>.") == ids{'.', 263, '.'});
  }
}

TEST_CASE("a normalised added token is found in normalised text") {
  auto content = small_tokenizer();
  content["normalizer"] = {{"type", "NFC"}};
  content["added_tokens"].push_back(
    {{"id", 264}, {"content", "e\u0301"}, {"normalized", true}});
  CHECK(encode_with(content, "e\u0301 \u00e9") == ids{264, ' ', 264});
}

TEST_CASE("the template adds tokens unless omitted") {
  auto content = small_tokenizer();
  content["post_processor"] = {
    {"type", "Sequence"},
    {"processors",
     {{{"type", "ByteLevel"}},
      {{"type", "TemplateProcessing"},
       {"single",
        {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
         {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
         {{"SpecialToken", {{"id", "</s>"}, {"type_id", 0}}}}}},
       {"special_tokens",
        {{"<s>", {{"id", "<s>"}, {"ids", {261}}}},
         {"</s>", {{"id", "</s>"}, {"ids", {262}}}}}}}}}};
  const temporary_folder folder;
  const auto loaded = load(folder, content);
  CHECK(loaded.encode("a") == ids{261, 'a', 262});
  CHECK(loaded.encode("a", template_tokens::omit) == ids{'a'});
}

TEST_CASE("a prefix space goes before each piece that lacks one") {
  auto content = small_tokenizer();
  content["pre_tokenizer"]["add_prefix_space"] = true;
  CHECK(encode_with(content, "hello<s>hello hello") == ids{260, 261, 260, 260});
}

TEST_CASE("spans are bytes of the text, in whole characters") {
  const temporary_folder folder;
  auto content = small_tokenizer();
  const auto spans = [&](const std::string& text) {
    return load(folder, content).encode_with_spans(text).spans;
  };
  using list = std::vector<text_span>;
  CHECK(spans("hello hello<tool>") == list{{0, 5}, {5, 11}, {11, 17}});
  CHECK(spans("a\u00e9") == list{{0, 1}, {1, 3}, {1, 3}});
  CHECK(spans("").empty());
  content["post_processor"] = {
    {"type", "ByteLevel"}, {"trim_offsets", true}, {"add_prefix_space", false}};
  CHECK(spans("hello hello ") == list{{0, 5}, {6, 11}, {12, 12}});
  // As tokenizers 0.23 does: what is composed has its first character's place;
  // a byte that is left out moves what follows it.
  rename_token(content, "z", "zz");
  CHECK(spans("azb") == list{{0, 1}, {1, 2}});
  content["normalizer"] = {{"type", "NFC"}};
  CHECK(spans("ae\u0301b") == list{{0, 1}, {1, 2}, {1, 2}, {4, 5}});
}

TEST_CASE("characters without token become the tokens of their bytes") {
  auto content = small_tokenizer();
  content["pre_tokenizer"] = nullptr;
  content["added_tokens"] = nlohmann::json::array();
  auto& model = content["model"];
  for (int byte = 0; byte < 256; ++byte)
    model["vocab"][nlohmann::json::string_t{"<0x"}
                   + "0123456789ABCDEF"[byte / 16]
                   + "0123456789ABCDEF"[byte % 16] + ">"] = 261 + byte;
  CHECK(encode_with(content, "he\u6771o") == ids{256, 'o'});
  model["byte_fallback"] = true;
  CHECK(encode_with(content, "he\u6771o")
        == ids{256, 261 + 0xe6, 261 + 0x9d, 261 + 0xb1, 'o'});
  // A byte token missing: the unknown one, or nothing.
  rename_token(content, "<0xE6>", "<>");
  CHECK(encode_with(content, "he\u6771o") == ids{256, 'o'});
  model["unk_token"] = "hello";
  CHECK(encode_with(content, "he\u6771\u6771o") == ids{256, 259, 259, 'o'});
}

TEST_CASE("words of characters are cut only where no merge joins") {
  auto content = small_tokenizer();
  content["pre_tokenizer"] = nullptr;
  auto& model = content["model"];
  model["unk_token"] = "z";
  rename_token(content, "\u0120hello", "\u2581hello");
  rename_token(content, "\u00e8", "\u2581");
  model["merges"].erase(4);
  model["merges"].push_back(nlohmann::json::array({"\u2581", "hello"}));
  CHECK(encode_with(content, "hello\u2581hello") == ids{259, 260});
  // Now "hello" and the mark are joined before the mark and "hello".
  rename_token(content, "\u00e9", "hello\u2581");
  model["merges"].insert(model["merges"].begin() + 4,
                         nlohmann::json::array({"hello", "\u2581"}));
  CHECK(encode_with(content, "hello\u2581hello") == ids{0xe9, 259});
}

TEST_CASE("broken UTF-8 counts as U+FFFD") {
  CHECK(encode_with(small_tokenizer(), "a\xff\xe2\x82z")
        == encode_with(small_tokenizer(), "a\ufffd\ufffdz"));
}

TEST_CASE("decoding leaves out special tokens only when asked") {
  const temporary_folder folder;
  const auto loaded = load(folder, small_tokenizer());
  const ids all{261, 259, 263, 262, -5, 9999};
  CHECK(loaded.decode(all) == "<s>hello<tool></s>");
  CHECK(loaded.decode(all, special_tokens::skip) == "hello<tool>");
}

TEST_CASE("a stream equals decoding at once and never cuts a character") {
  const temporary_folder folder;
  const auto loaded = load(folder, small_tokenizer());
  // Every mix of lead, continuation and wrong bytes up to five long.
  const ids alphabet{'a', 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0xc3, 0xff};
  for (std::size_t code = 0; code < 8 * 8 * 8 * 8 * 8; ++code) {
    ids sequence;
    for (auto rest = code; sequence.size() < 5; rest /= 8)
      sequence.push_back(alphabet[rest % 8]);
    decode_stream stream{loaded};
    std::string joined;
    for (const auto id : sequence) {
      const auto piece = stream.push(id);
      // What is certain is decodable on its own.
      REQUIRE(loaded.decode(loaded.encode(piece)) == piece);
      joined += piece;
    }
    joined += stream.finish();
    REQUIRE(joined == loaded.decode(sequence));
    REQUIRE(stream.finish().empty());
  }
}

TEST_CASE("a stream shows a character as soon as it is complete") {
  const temporary_folder folder;
  decode_stream stream{load(folder, small_tokenizer()), special_tokens::skip};
  CHECK(stream.push(0xe2).empty());
  CHECK(stream.push(261).empty());
  CHECK(stream.push(0x82).empty());
  CHECK(stream.push(0xac) == "\u20ac");
  CHECK(stream.push('a') == "a");
  CHECK(stream.push(0xf0).empty());
  CHECK(stream.finish() == "\ufffd");
}

TEST_CASE("special ids come from tokenizer_config.json") {
  const temporary_folder folder;
  CHECK_FALSE(load(folder, small_tokenizer()).specials().eos);
  write_file(folder / "tokenizer_config.json",
             R"({"bos_token": "<s>", "eos_token": {"content": "</s>"},
                 "pad_token": null,
                 "model_max_length": 1000000000000000019884624838656})");
  const auto loaded = load(folder, small_tokenizer());
  CHECK(loaded.specials().bos == 261);
  CHECK(loaded.specials().eos == 262);
  CHECK_FALSE(loaded.specials().pad);
  CHECK_FALSE(loaded.specials().unk);
}

TEST_CASE("tokens are found by spelling and by id") {
  const temporary_folder folder;
  const auto loaded = load(folder, small_tokenizer());
  CHECK(loaded.vocab_size() == 264);
  CHECK(loaded.id_of("\u0120hello") == 260);
  CHECK_FALSE(loaded.id_of(" hello"));
  CHECK(loaded.bytes_of(260) == " hello");
  CHECK(loaded.bytes_of(264).empty());
  CHECK(loaded.is_special(261));
  CHECK_FALSE(loaded.is_special(263));
}

TEST_CASE("threads that share a tokenizer get the same ids") {
  const temporary_folder folder;
  const auto loaded = load(folder, small_tokenizer());
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += "hello " + std::to_string(i);
  const auto expected = loaded.encode(text);
  std::vector<ids> found(4);
  std::vector<std::thread> threads;
  for (auto& one : found)
    threads.emplace_back([&] { one = loaded.encode(text); });
  for (auto& thread : threads)
    thread.join();
  for (const auto& one : found)
    CHECK(one == expected);
}

TEST_CASE("the files of a tokenizer are copied to a model folder") {
  const temporary_folder from;
  const temporary_folder to;
  write_file(from / "tokenizer.json", small_tokenizer().dump());
  write_file(from / "tokenizer_config.json", R"({"eos_token": "</s>"})");
  copy_tokenizer_files(from.path(), to.path());
  copy_tokenizer_files(to.path(), to.path()); // onto itself: nothing
  CHECK(tokenizer::load(to.path()).specials().eos == 262);
}

TEST_SUITE_END();
