// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/load_plugin.hpp"

#include "protocols/failure.hpp"

#include <dlfcn.h>

namespace troupe::runtime::model {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path,
                         const std::string& reason) {
  throw protocols::failure{protocols::errc::plugin_refused,
                           "plug-in " + path.string() + ": " + reason};
}

template <class Function>
Function* entry_point(void* library, const std::filesystem::path& path,
                      const char* name) {
  auto* found = ::dlsym(library, name);
  if (!found)
    refuse(path, std::string{"it has no entry point '"} + name
                   + "'; see runtime/model/load_plugin.hpp for the two that a "
                     "plug-in defines");
  return reinterpret_cast<Function*>(found);
}

} // namespace

void load_plugin(const std::filesystem::path& path, module_registry& registry) {
  // Absolute, as dlopen searches its own path for a bare name.
  const auto file = std::filesystem::absolute(path);
  if (!std::filesystem::exists(file))
    refuse(path, "no such file");
  // Never unloaded: modules whose code it is may outlive any owner here.
  auto* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    refuse(path, std::string{"it can't be loaded: "} + ::dlerror());
  const auto abi = entry_point<int()>(library, path, "troupe_plugin_abi")();
  if (abi != TROUPE_PLUGIN_ABI)
    refuse(path, "it was built for plug-in ABI " + std::to_string(abi)
                   + ", this is " + std::to_string(TROUPE_PLUGIN_ABI)
                   + "; build it anew against this version's headers");
  auto* add_types = entry_point<void(module_registry&)>(
    library, path, "troupe_register_modules");

  auto extended = registry;
  extended.origin_ = "plug-in " + path.string();
  try {
    add_types(extended);
  } catch (const protocols::failure&) {
    throw; // names the path as its origin
  } catch (const std::exception& error) {
    refuse(path, std::string{"troupe_register_modules threw: "} + error.what());
  }
  extended.origin_ = registry.origin_;
  registry = std::move(extended);
}

} // namespace troupe::runtime::model
