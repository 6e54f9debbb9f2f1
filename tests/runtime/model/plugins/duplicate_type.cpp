// SPDX-License-Identifier: Apache-2.0
// A plug-in that adds a type of its own and one that is there already.
#include "runtime/model/load_plugin.hpp"

using namespace troupe::runtime::model;

extern "C" int troupe_plugin_abi() {
  return TROUPE_PLUGIN_ABI;
}

extern "C" void troupe_register_modules(module_registry& registry) {
  const auto none = [](const module_arguments&) {
    return std::shared_ptr<module>{};
  };
  registry.add("another_mlp", none);
  registry.add("gated_mlp", none);
}
