// SPDX-License-Identifier: Apache-2.0
#include "runtime/reward/grader.hpp"

#include "tests/support/expect_failure.hpp"

#include <vector>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::reward;
using troupe::protocols::errc;
using troupe::tests::expect_failure;

TEST_SUITE_BEGIN("runtime.reward.grader");

TEST_CASE("exact match compares bytes, white space at the ends aside") {
  CHECK(exact_match("42", "42") == 1);
  CHECK(exact_match(" 42\n", "\t42 ") == 1);
  CHECK(exact_match("42", "042") == 0);
  CHECK(exact_match("4 2", "42") == 0);
  CHECK(exact_match("A", "a") == 0);
  CHECK(exact_match("", "") == 1);
}

TEST_CASE("the final number of a text, in normal form") {
  struct row {
    std::string_view text, number;
  };
  for (const auto& [text, number] : std::vector<row>{
         {"7", "7"},
         {"first 3, then 12", "12"},
         {"The answer is 12.", "12"},
         {"the answer is 1,234,567.80 dollars", "1234567.8"},
         {"-5", "-5"},
         {"= -5", "-5"},
         {"(-5)", "-5"},
         {"+5", "5"},
         {"\xe2\x88\x92"
          "5",
          "-5"},
         {"8-5", "5"},
         {"x-5", "5"},
         {"(2)-5", "5"},
         {"007", "7"},
         {"0.50", "0.5"},
         {".5", "0.5"},
         {"-.5", "-0.5"},
         {"-0.0", "0"},
         {"3.14.", "3.14"},
         {"1,2,3", "3"},
         {"1,23", "23"},
         {"12,3456", "3456"},
         {"1234,567", "567"},
         {"50%", "50"},
         {"$1,000", "1000"},
         {"1/2", "2"},
         {"x2", "2"},
         {"#### 7", "7"},
         {"#### 7 apples of 9", "7"},
         {"#### 1 then #### -2", "-2"},
         {"it is 6\n####", "6"},
         {"123456789012345678901234567890", "123456789012345678901234567890"},
       }) {
    CAPTURE(text);
    CHECK(final_number_of(text).value_or("none") == number);
  }
  for (const std::string_view text : {"", "none", "-", ".", "####", ",,,"})
    CHECK_FALSE(final_number_of(text).has_value());
}

TEST_CASE("final numbers are compared as decimals, not as floating point") {
  CHECK(final_number("so it is 1,000.0", "1000") == 1);
  CHECK(final_number("0.1", ".10") == 1);
  CHECK(final_number("9007199254740993", "9007199254740992") == 0);
  CHECK(final_number("0.30000000000000004", "0.3") == 0);
  CHECK(final_number("-0", "0") == 1);
  CHECK(final_number("5", "-5") == 0);
  CHECK(final_number("72", "48 + 24 = 72\n#### 72") == 1);
}

TEST_CASE("nothing is right where a side has no number") {
  CHECK(final_number("seven", "7") == 0);
  CHECK(final_number("", "7") == 0);
  CHECK(final_number("", "") == 0);
}

TEST_CASE("graders are made by the job's name for them") {
  CHECK(make_grader("exact_match")->grade("a", "a") == 1);
  CHECK(make_grader("exact_match")->grade("1.0", "1") == 0);
  CHECK(make_grader("final_number")->grade("1.0", "1") == 1);
  expect_failure(errc::unsupported,
                 {"\"python\"", "exact_match", "final_number"},
                 [] { make_grader("python"); });
}

TEST_CASE("an answer that no completion can match is refused with the reason") {
  CHECK_FALSE(make_grader("final_number")->refuse_answer("7").has_value());
  CHECK(make_grader("final_number")
          ->refuse_answer("seven")
          .value_or("")
          .find("\"seven\" has no number")
        != std::string::npos);
  CHECK_FALSE(make_grader("exact_match")->refuse_answer("x").has_value());
  CHECK(make_grader("exact_match")->refuse_answer(" ").has_value());
}

TEST_SUITE_END();
