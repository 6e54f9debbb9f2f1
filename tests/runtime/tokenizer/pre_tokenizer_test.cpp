// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/pre_tokenizer.hpp"

#include "tests/support/failure_of.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::tokenizer;

namespace {

using words = std::vector<std::string>;

using steps = std::vector<pre_tokenizer_step>;

words split(const steps& spec, std::string_view text) {
  const pre_tokenizer used{spec, "tokenizer.json"};
  const auto found = used.split({text, aligned_text::tracking::on});
  words out;
  for (const auto& [begin, end] : found.words)
    out.emplace_back(found.text.text().substr(begin, end - begin));
  return out;
}

steps regex(const std::string& pattern,
            split_behavior behavior = split_behavior::isolated) {
  return {split_step{{pattern, true, "pattern"}, behavior, false}};
}

const steps gpt2{byte_level_step{}};

} // namespace

TEST_SUITE_BEGIN("runtime.tokenizer.pre_tokenizer");

TEST_CASE("GPT-2's expression cuts words with one space before them") {
  CHECK(
    split(gpt2, "I'll  go, 12 times!\n\n  x")
    == words{"I", "'ll", " ", " go", ",", " 12", " times", "!", "\n\n ", " x"});
  CHECK(split(gpt2, "it's IT'S") == words{"it", "'s", " IT", "'", "S"});
  CHECK(split(gpt2, "  ") == words{"  "});
  CHECK(split(gpt2, "\u00e9t\u00e9 \u6771\u4eac \u0663")
        == words{"\u00e9t\u00e9", " \u6771\u4eac", " \u0663"});
}

TEST_CASE("white space is Unicode's, as for Oniguruma") {
  CHECK(split(gpt2, "a\u2003\u00a0b") == words{"a", "\u2003", "\u00a0", "b"});
  // Horizontal space for PCRE2's own \s, but not White_Space.
  CHECK(split(gpt2, "a \u180e") == words{"a", " \u180e"});
}

TEST_CASE("long runs need neither stack nor time") {
  const std::string spaces(200'000, ' ');
  CHECK(split(gpt2, spaces + "x").size() == 2);
  CHECK(split(gpt2, std::string(200'000, 'x')).size() == 1);
  CHECK(split(regex("(?:a|b)+"), std::string(200'000, 'a')).size() == 1);
}

TEST_CASE("digits are cut alone or in runs") {
  const auto text = "a12\u00bd b3";
  CHECK(split({digits_step{true}}, text)
        == words{"a", "1", "2", "\u00bd", " b", "3"});
  CHECK(split({digits_step{false}}, text) == words{"a", "12\u00bd", " b", "3"});
}

TEST_CASE("matches are dropped, isolated, merged or joined") {
  struct row {
    split_behavior behavior;
    bool inverts;
    words expected;
  };
  const std::vector<row> rows{
    {split_behavior::isolated, false, {"-", "a", "-", "-", "bc", "-"}},
    {split_behavior::isolated, true, {"-", "a", "-", "-", "bc", "-"}},
    {split_behavior::removed, false, {"a", "bc"}},
    {split_behavior::removed, true, {"-", "-", "-", "-"}},
    {split_behavior::merged_with_previous, false, {"-", "a-", "-", "bc-"}},
    {split_behavior::merged_with_previous, true, {"-a", "-", "-bc", "-"}},
    {split_behavior::merged_with_next, false, {"-a", "-", "-bc", "-"}},
    {split_behavior::merged_with_next, true, {"-", "a-", "-", "bc-"}},
    {split_behavior::contiguous, false, {"-", "a", "--", "bc", "-"}},
    {split_behavior::contiguous, true, {"-", "a", "--", "bc", "-"}},
  };
  for (const auto& [behavior, inverts, expected] : rows)
    for (const bool is_regex : {false, true}) {
      CAPTURE(static_cast<int>(behavior));
      CAPTURE(inverts);
      CHECK(
        split({split_step{{"-", is_regex, ""}, behavior, inverts}}, "-a--bc-")
        == expected);
    }
}

TEST_CASE("empty matches cut, too") {
  CHECK(split(regex("(?=(\\d{3})+(?!\\d))"), "a1234567")
        == words{"a1", "234", "567"});
  CHECK(split(regex("x*"), "axb") == words{"a", "x", "b"});
}

TEST_CASE("white space and punctuation cut") {
  CHECK(split({whitespace_split_step{}}, " a.b\u3000c ") == words{"a.b", "c"});
  CHECK(split({whitespace_step{}}, " a_\u00e9.!b ")
        == words{"a_\u00e9", ".!", "b"});
  CHECK(split({punctuation_step{}}, "a$\u3002b")
        == words{"a", "$", "\u3002", "b"});
  CHECK(split({punctuation_step{split_behavior::contiguous}}, "a$\u3002b")
        == words{"a", "$\u3002", "b"});
}

TEST_CASE("a mark stands for spaces, and before the text as the scheme says") {
  const auto marked = [](prepend_scheme scheme, bool splits,
                         std::string_view text) {
    return split({whitespace_split_step{}, metaspace_step{"_", scheme, splits}},
                 text);
  };
  CHECK(marked(prepend_scheme::always, true, "ab c") == words{"_ab", "_c"});
  CHECK(marked(prepend_scheme::first, true, "ab c") == words{"_ab", "c"});
  CHECK(marked(prepend_scheme::first, true, " ab c") == words{"ab", "c"});
  CHECK(marked(prepend_scheme::never, true, "ab c") == words{"ab", "c"});
  const metaspace_step whole{"_", prepend_scheme::always, false};
  CHECK(split({whole}, "a  b") == words{"_a__b"});
  CHECK(split({metaspace_step{"_", prepend_scheme::always, true}}, "a  b")
        == words{"_a", "_", "_b"});
}

TEST_CASE("steps follow one another, the prefix space comes before GPT-2's") {
  CHECK(split({digits_step{true}, byte_level_step{true, true}}, "ab1 c")
        == words{" ab", " 1", " c"});
}

TEST_CASE("bytes are spelled for the steps that follow") {
  CHECK(split({byte_level_step{false, true}, digits_step{true}}, "a 1\u00e9")
        == words{"a", "\u0120", "1", "\u00c3\u00a9"});
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
  CHECK(split(regex("\\bb\\b"), "ab b") == words{"ab ", "b"});
  CHECK(split(regex("\\w+"), "a\u00b2\u2460") == words{"a\u00b2", "\u2460"});
  CHECK(split(regex("[\\w]+"), "a\u00b2") == words{"a", "\u00b2"});
  CHECK(split(regex("[^a[bc]]+"), "abxyc") == words{"ab", "xy", "c"});
  CHECK(split(regex("\\u3042|\\x{3044}"), "\u3042\u3044.")
        == words{"\u3042", "\u3044", "."});
  for (const auto* construct :
       {"\\h", "\\R", "\\X", "[\\b]", "\\x41", "\\1", "[\\W]", "a{2}+",
        "(?m:.)", "(?<n>a)", "(*UCP)", "[a&&b]", "[[:alpha:]]", "\\p"}) {
    CAPTURE(construct);
    CHECK(troupe::tests::failure_of([&] { split(regex(construct), "a"); })
            .starts_with("tokenizer_unsupported: tokenizer.json: pattern "
                         + std::string{construct} + " uses "));
  }
  CHECK(troupe::tests::failure_of([&] { split(regex("(a"), "a"); })
        == "tokenizer_unreadable: tokenizer.json: pattern (a: "
           "missing closing parenthesis at offset 2");
}

TEST_SUITE_END();
