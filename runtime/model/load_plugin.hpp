// SPDX-License-Identifier: Apache-2.0
//
// Module types out of shared libraries. A plug-in defines
//
//   extern "C" int troupe_plugin_abi() { return TROUPE_PLUGIN_ABI; }
//   extern "C" void troupe_register_modules(
//     troupe::runtime::model::module_registry& registry);
//
// and is built against the same headers as the executable that loads it, whose
// symbols it uses (CMake: troupe_plugin, troupe_accepts_plugins).
// samples/plugins/experts is one.
#pragma once

#include "runtime/model/module_registry.hpp"

#include <filesystem>

/// Raised with every change of the headers that a plug-in includes.
#define TROUPE_PLUGIN_ABI 1

namespace troupe::runtime::model {

/// Adds the types of a plug-in. The library stays loaded until the process
/// ends: modules of its types may live as long.
/// Errors: plugin_refused, naming the path and the reason: the file is missing
/// or no library, an entry point is missing, the ABI differs, a type name is
/// taken. The registry is unchanged then.
void load_plugin(const std::filesystem::path& path, module_registry& registry);

} // namespace troupe::runtime::model
