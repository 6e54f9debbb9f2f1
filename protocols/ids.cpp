// SPDX-License-Identifier: Apache-2.0
#include "protocols/ids.hpp"

namespace troupe::protocols {

std::string to_string(const group_id& id) {
  return std::to_string(id.data_pass) + '/' + std::to_string(id.position) + '/'
         + std::to_string(id.attempt);
}

} // namespace troupe::protocols
