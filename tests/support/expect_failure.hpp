// SPDX-License-Identifier: Apache-2.0
//
// Checks of error texts: the code, and every piece that the text must name.
#pragma once

#include "protocols/failure.hpp"
#include "tests/support/doctest.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

namespace troupe::tests {

/// Runs `action`, which must throw a failure of `code` whose text has all of
/// `pieces`; returns the text.
template <class Action>
std::string expect_failure(protocols::errc code,
                           std::initializer_list<std::string_view> pieces,
                           Action action) {
  try {
    action();
  } catch (const protocols::failure& error) {
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(protocols::to_string(error.code()) == protocols::to_string(code));
    for (const auto piece : pieces) {
      CAPTURE(piece);
      CHECK(text.find(piece) != std::string::npos);
    }
    return text;
  }
  FAIL_CHECK("nothing was thrown; expected " << protocols::to_string(code));
  return {};
}

} // namespace troupe::tests
