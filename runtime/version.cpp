// SPDX-License-Identifier: Apache-2.0
#include "runtime/version.hpp"

namespace troupe::runtime {

std::string_view version() {
  return "0.1.0";
}

} // namespace troupe::runtime
