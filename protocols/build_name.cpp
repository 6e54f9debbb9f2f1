// SPDX-License-Identifier: Apache-2.0
#include "protocols/build_name.hpp"

namespace troupe::protocols {

std::string_view build_name() {
  return TROUPE_BUILD_NAME;
}

} // namespace troupe::protocols
