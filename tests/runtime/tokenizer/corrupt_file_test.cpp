// SPDX-License-Identifier: Apache-2.0
//
// Damaged tokenizer.json files: loading refuses with a typed error, or what is
// loaded encodes and decodes.
#include "protocols/failure.hpp"
#include "runtime/tokenizer/utf8.hpp"
#include "tests/runtime/tokenizer/small_tokenizer.hpp"

#include <random>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::tokenizer;
using nlohmann::json;
using troupe::protocols::errc;
using troupe::tests::small_tokenizer;
using troupe::tests::temporary_folder;
using troupe::tests::write_file;

namespace {

constexpr std::uint64_t seed = 20;

/// Small, with every kind of step.
json every_step() {
  auto out = small_tokenizer();
  out["normalizer"] = json::parse(
    R"({"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"},
      {"type":"Replace","pattern":{"Regex":"[ab]+"},"content":"x"},
      {"type":"Prepend","prepend":"_"},{"type":"StripAccents"},
      {"type":"Strip","strip_left":true,"strip_right":true}]})");
  out["pre_tokenizer"] = json::parse(
    R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":
      {"Regex":"\\s+(?!\\S)|\\w"},"behavior":"MergedWithNext","invert":false},
      {"type":"Punctuation","behavior":"Contiguous"},{"type":"Digits",
      "individual_digits":true},{"type":"Metaspace","replacement":"_",
      "prepend_scheme":"first","split":true},{"type":"ByteLevel",
      "add_prefix_space":true,"use_regex":true}]})");
  out["post_processor"] = json::parse(
    R"({"type":"Sequence","processors":[{"type":"ByteLevel"},{"type":
      "TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},
      {"Sequence":{"id":"A"}}],"special_tokens":{"<s>":{"ids":[261]}}}]})");
  out["decoder"] = json::parse(
    R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":
      "_"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},
      {"type":"Strip","content":" ","start":1,"stop":0}]})");
  return out;
}

enum class outcome { refused, loaded };

/// Throws what is no refusal by name.
outcome try_file(const temporary_folder& folder, const std::string& content) {
  write_file(folder / "tokenizer.json", content);
  try {
    const auto used = tokenizer::load(folder.path());
    const auto ids = used.encode(" He said: \"ab1\" \u00e9\ufb01 <s>\n");
    const auto traced = used.encode_with_spans("hello <tool>");
    REQUIRE(traced.ids.size() == traced.spans.size());
    REQUIRE(is_utf8(used.decode(ids)));
    return outcome::loaded;
  } catch (const troupe::protocols::failure& error) {
    REQUIRE((error.code() == errc::tokenizer_unreadable
             || error.code() == errc::tokenizer_unsupported));
    REQUIRE(std::string{error.what()}.find((folder / "tokenizer.json").string())
            == 0);
    return outcome::refused;
  }
}

/// Puts `value` in place of each value of `content`, one after the other.
template <class Visit>
void with_each_value(const json& content, const json& value, Visit&& visit) {
  const auto flat = content.flatten();
  std::vector<std::string> paths;
  for (const auto& [path, unused] : flat.items())
    for (auto end = path.find('/', 1); end != path.npos;
         end = path.find('/', end + 1))
      if (paths.empty() || paths.back() != path.substr(0, end))
        paths.push_back(path.substr(0, end));
  for (const auto& path : paths) {
    auto changed = content;
    changed[json::json_pointer{path}] = value;
    CAPTURE(path);
    visit(changed.dump());
  }
}

} // namespace

TEST_SUITE_BEGIN("runtime.tokenizer.corrupt_file");

TEST_CASE("the file to damage is read") {
  const temporary_folder folder;
  CHECK(try_file(folder, every_step().dump()) == outcome::loaded);
}

TEST_CASE("a wrong type at any place is refused or without effect") {
  const temporary_folder folder;
  for (const auto& value : {json(), json(-1), json("text"), json(1e300),
                            json::array({json::object()})})
    with_each_value(every_step(), value, [&](const std::string& changed) {
      try_file(folder, changed);
    });
}

TEST_CASE("cut and overwritten files are refused or read") {
  const temporary_folder folder;
  const auto content = every_step().dump();
  std::mt19937_64 rng{seed};
  CAPTURE(seed);
  int num_refused = 0;
  for (int round = 0; round < 600; ++round) {
    auto changed = content;
    if (round % 3 == 0)
      changed.resize(rng() % content.size());
    for (auto count = rng() % 4; count > 0 && !changed.empty(); --count)
      changed[rng() % changed.size()] = round % 2 == 0
                                          ? static_cast<char>(rng())
                                          : "\"{}[],:0-9e\\"[rng() % 12];
    num_refused += try_file(folder, changed) == outcome::refused ? 1 : 0;
  }
  CHECK(num_refused > 200); // a third is cut, which is no JSON
}

TEST_SUITE_END();
