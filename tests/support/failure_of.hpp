// SPDX-License-Identifier: Apache-2.0
//
// Runs what must be refused and returns "code: text", or "no failure".
#pragma once

#include "protocols/failure.hpp"

#include <string>

namespace troupe::tests {

template <class Function>
std::string failure_of(Function&& function) {
  try {
    function();
  } catch (const protocols::failure& error) {
    return std::string{to_string(error.code())} + ": " + error.what();
  }
  return "no failure";
}

/// For texts of which only a part matters.
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace troupe::tests
