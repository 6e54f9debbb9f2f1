// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/pre_tokenizer.hpp"

#include "tests/support/failure_of.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::tokenizer;

namespace {

using words = std::vector<std::string>;

words split(const pre_tokenizer_spec& spec, std::string_view text) {
  const pre_tokenizer used{spec, "tokenizer.json"};
  const auto found = used.split(text);
  return {found.words.begin(), found.words.end()};
}

pre_tokenizer_spec only(pre_tokenizer_spec::step step) {
  return {{std::move(step)}, false, false};
}

pre_tokenizer_spec regex(const std::string& pattern) {
  return only({{}, split_step{pattern, true, true, true}});
}

} // namespace

TEST_SUITE_BEGIN("runtime.tokenizer.pre_tokenizer");

TEST_CASE("GPT-2's expression cuts words with one space before them") {
  const pre_tokenizer_spec gpt2;
  CHECK(
    split(gpt2, "I'll  go, 12 times!\n\n  x")
    == words{"I", "'ll", " ", " go", ",", " 12", " times", "!", "\n\n ", " x"});
  CHECK(split(gpt2, "it's IT'S") == words{"it", "'s", " IT", "'", "S"});
  CHECK(split(gpt2, "  ") == words{"  "});
  CHECK(split(gpt2, "\u00e9t\u00e9 \u6771\u4eac \u0663")
        == words{"\u00e9t\u00e9", " \u6771\u4eac", " \u0663"});
}

TEST_CASE("white space is Unicode's, as for Oniguruma") {
  const pre_tokenizer_spec gpt2;
  CHECK(split(gpt2, "a\u2003\u00a0b") == words{"a", "\u2003", "\u00a0", "b"});
  // Horizontal space for PCRE2's own \s, but not White_Space.
  CHECK(split(gpt2, "a \u180e") == words{"a", " \u180e"});
}

TEST_CASE("long runs need neither stack nor time") {
  const std::string spaces(200'000, ' ');
  CHECK(split({}, spaces + "x").size() == 2);
  CHECK(split({}, std::string(200'000, 'x')).size() == 1);
  CHECK(split(regex("(?:a|b)+"), std::string(200'000, 'a')).size() == 1);
}

TEST_CASE("digits are cut alone or in runs") {
  const auto text = "a12\u00bd b3";
  CHECK(split(only({digits_step{true}, {}}), text)
        == words{"a", "1", "2", "\u00bd", " b", "3"});
  CHECK(split(only({digits_step{false}, {}}), text)
        == words{"a", "12\u00bd", " b", "3"});
}

TEST_CASE("a split keeps matches, gaps, or both") {
  const auto cut = [](bool matches, bool gaps, bool is_regex) {
    return split(only({{}, split_step{"--", is_regex, matches, gaps}}),
                 "--a--b----c");
  };
  for (const bool is_regex : {false, true}) {
    CHECK(cut(true, true, is_regex)
          == words{"--", "a", "--", "b", "--", "--", "c"});
    CHECK(cut(false, true, is_regex) == words{"a", "b", "c"});
    CHECK(cut(true, false, is_regex) == words{"--", "--", "--", "--"});
  }
}

TEST_CASE("steps follow one another, the prefix space comes before GPT-2's") {
  pre_tokenizer_spec spec;
  spec.steps.push_back({digits_step{true}, {}});
  spec.adds_prefix_space = true;
  CHECK(split(spec, "ab1 c") == words{" ab", " 1", " c"});
}

TEST_CASE("expressions keep Oniguruma's meaning or are refused") {
  CHECK(split(regex("\\w+"), "a_\u0301b\u203f-")
        == words{"a_\u0301b\u203f", "-"});
  CHECK(split(regex("[\\w]+"), "a-") == words{"a", "-"});
  CHECK(split(regex("^b$"), "a\nb\nc") == words{"a\n", "b", "\nc"});
  CHECK(split(regex("(?i:'S)"), "it's") == words{"it", "'s"});
  // Llama 3's
  CHECK(split(regex("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
                    "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
                    "|\\s+(?!\\S)|\\s+"),
              "Hi, it'S 12345\n\n ok")
        == words{"Hi", ",", " it", "'S", " ", "123", "45", "\n\n", " ok"});
  for (const auto* construct :
       {"\\h", "\\R", "\\X", "\\b", "\\1", "[\\W]", "a{2}+", "(?m:.)",
        "(?<n>a)", "(*UCP)", "[a&&b]", "[[:alpha:]]", "\\p"}) {
    CAPTURE(construct);
    CHECK(troupe::tests::failure_of([&] { split(regex(construct), "a"); })
            .starts_with("tokenizer_unsupported: tokenizer.json: regular "
                         "expression "
                         + std::string{construct} + " uses "));
  }
  CHECK(troupe::tests::failure_of([&] { split(regex("(a"), "a"); })
        == "tokenizer_unreadable: tokenizer.json: regular expression (a: "
           "missing closing parenthesis at offset 2");
}

TEST_SUITE_END();
