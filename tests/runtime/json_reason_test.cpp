// SPDX-License-Identifier: Apache-2.0
#include "runtime/json_reason.hpp"

#include <nlohmann/json.hpp>

#include <stdexcept>
#include <tuple>

#include "tests/support/doctest.hpp"

using nlohmann::json;
using troupe::runtime::json_reason;

TEST_SUITE_BEGIN("runtime.json_reason");

namespace {

template <class Action>
std::string reason_of(Action action) {
  try {
    action();
  } catch (const std::exception& error) {
    return json_reason(error);
  }
  return "nothing was thrown";
}

} // namespace

TEST_CASE("a reason has the place and not the library's names") {
  const auto text = reason_of([] { json parsed = json::parse("{\"a\": }"); });
  CAPTURE(text);
  CHECK(text.starts_with("line 1, column 7: syntax error"));
  CHECK(reason_of([] { json found = json::object().at("step"); })
        == "key 'step' not found");
  CHECK(reason_of([] { std::ignore = json("x").get<int>(); })
        == "type must be number, but is string");
}

TEST_CASE("other errors stay as they are") {
  CHECK(reason_of([] { throw std::runtime_error{"plain] text"}; })
        == "plain] text");
}

TEST_SUITE_END();
