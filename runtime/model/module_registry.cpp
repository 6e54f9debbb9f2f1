// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/module_registry.hpp"

#include "protocols/failure.hpp"
#include "runtime/model/gated_mlp.hpp"

namespace troupe::runtime::model {

using protocols::errc;
using protocols::failure;

module_registry::module_registry() {
  add("gated_mlp", [](const module_arguments& arguments) {
    return std::make_shared<gated_mlp>(arguments);
  });
  add("plain_mlp", [](const module_arguments& arguments) {
    return std::make_shared<plain_mlp>(arguments);
  });
}

void module_registry::add(const std::string& type_name, constructor make) {
  const auto [held, is_new] =
    types_.try_emplace(type_name, entry{std::move(make), origin_});
  if (!is_new)
    throw failure{errc::plugin_refused,
                  origin_ + ": the module type '" + type_name
                    + "' is known already, from " + held->second.origin
                    + "; type names are unique"};
}

std::shared_ptr<module>
module_registry::make(std::string_view type_name,
                      const module_arguments& arguments) const {
  const auto held = types_.find(type_name);
  if (held != types_.end())
    return held->second.make(arguments);
  std::string known;
  for (const auto& name : type_names())
    known += (known.empty() ? "" : ", ") + name;
  throw failure{errc::model_unsupported,
                arguments.name + ": no module type '" + std::string{type_name}
                  + "'; known: " + known + ". More come from model.plugins"};
}

std::vector<std::string> module_registry::type_names() const {
  std::vector<std::string> names;
  for (const auto& [name, held] : types_)
    names.push_back(name);
  return names;
}

} // namespace troupe::runtime::model
