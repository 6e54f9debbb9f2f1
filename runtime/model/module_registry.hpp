// SPDX-License-Identifier: Apache-2.0
//
// Module types by name. A type is known from the moment it is added, also
// while a sharding context is open (plug-ins: load_plugin.hpp).
#pragma once

#include "runtime/model/decoder_config.hpp"
#include "runtime/model/module.hpp"
#include "runtime/shard/sharding_context.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::model {

class module_registry;

/// What a constructor gets.
struct module_arguments {
  const decoder_config& config;
  shard::parameter_factory& factory;
  const module_registry& registry; ///< for children of types by name
  std::string name; ///< full name of the module: model.layers.0.mlp
};

class module_registry {
public:
  using constructor =
    std::function<std::shared_ptr<module>(const module_arguments&)>;

  /// Starts with the built-in types: gated_mlp, plain_mlp.
  module_registry();

  /// Errors: plugin_refused if the name is taken, naming both origins.
  void add(const std::string& type_name, constructor make);

  /// Errors: model_unsupported, naming the type and the known ones.
  [[nodiscard]] std::shared_ptr<module>
  make(std::string_view type_name, const module_arguments& arguments) const;

  [[nodiscard]] std::vector<std::string> type_names() const;

private:
  friend void load_plugin(const std::filesystem::path&, module_registry&);

  struct entry {
    constructor make;
    std::string origin; ///< path of a plug-in, for error texts
  };
  std::map<std::string, entry, std::less<>> types_;
  std::string origin_ = "troupe"; ///< of what is being added
};

} // namespace troupe::runtime::model
