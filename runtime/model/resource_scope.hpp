// SPDX-License-Identifier: Apache-2.0
//
// Lookup by name over an engine and its model. Each step is tried once, in
// this order, and none starts the lookup again (D1-D3): the engine's own
// (attributes, parameters, buffers, modules), then the model's attributes, its
// parameters and buffers, its children. Otherwise attribute_missing with the
// usual text (D4), also while no model is set (D5).
#pragma once

#include "runtime/model/module.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace troupe::runtime::model {

using resource = std::variant<attribute, std::shared_ptr<shard::parameter>,
                              std::shared_ptr<module>>;

class resource_scope {
public:
  explicit resource_scope(std::string type_name)
    : type_name_(std::move(type_name)) {}

  void set_model(std::shared_ptr<module> model) { model_ = std::move(model); }

  /// The owner's own; a name that is there is overwritten.
  void set(const std::string& name, resource value);

  /// Errors: attribute_missing: '<type>' object has no attribute '<name>'.
  [[nodiscard]] resource find(std::string_view name) const;

private:
  std::string type_name_;
  std::map<std::string, resource, std::less<>> own_;
  std::shared_ptr<module> model_;
};

} // namespace troupe::runtime::model
