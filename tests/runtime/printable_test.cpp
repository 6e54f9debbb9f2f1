// SPDX-License-Identifier: Apache-2.0
#include "runtime/printable.hpp"

#include "tests/support/doctest.hpp"

using troupe::runtime::printable;

TEST_SUITE_BEGIN("runtime.printable");

TEST_CASE("text and its line ends stay as they are") {
  for (const auto* text :
       {"", "plain", "a\tb\n", "\u00e4\u20ac\U0001f600", "\u00a0"})
    CHECK(printable(text) == text);
}

TEST_CASE("what would steer a terminal is written as numbers") {
  CHECK(printable("\x1b[2J") == "\\x1b[2J");
  CHECK(printable("a\rb\x7f") == "a\\x0db\\x7f");
  CHECK(printable(std::string_view{"\0", 1}) == "\\x00");
  CHECK(printable("\u009b31m") == "\\xc2\\x9b31m"); // C1: one-character CSI
}

TEST_CASE("bytes that are no UTF-8 are written as numbers") {
  CHECK(printable("\x9b"
                  "31m")
        == "\\x9b31m");
  CHECK(printable("\xe4\xb8") == "\\xe4\\xb8");
  CHECK(printable("\xff\u00e4") == "\\xff\u00e4");
}

TEST_SUITE_END();
