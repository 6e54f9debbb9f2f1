// SPDX-License-Identifier: Apache-2.0
#include "runtime/version.hpp"

#include <torch/version.h>

namespace troupe::runtime {

std::string_view torch_version() {
  return TORCH_VERSION;
}

} // namespace troupe::runtime
