// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace troupe::runtime {

/// Returns Troupe's version, as in `troupe --version`.
std::string_view version();

/// Returns the version of LibTorch that a rank runs with.
/// Only in troupe_runtime_torch.
std::string_view torch_version();

} // namespace troupe::runtime
