// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/resource_scope.hpp"

#include "protocols/failure.hpp"

namespace troupe::runtime::model {

void resource_scope::set(const std::string& name, resource value) {
  own_.insert_or_assign(name, std::move(value));
}

resource resource_scope::find(std::string_view name) const {
  if (const auto held = own_.find(name); held != own_.end())
    return held->second;
  if (model_) {
    if (const auto held = model_->attributes.find(name);
        held != model_->attributes.end())
      return held->second;
    for (const auto& held : model_->parameters())
      if (held.name == name)
        return held.value;
    for (const auto& held : model_->children())
      if (held.name == name)
        return held.value;
  }
  throw protocols::failure{protocols::errc::attribute_missing,
                           "'" + type_name_ + "' object has no attribute '"
                             + std::string{name} + "'"};
}

} // namespace troupe::runtime::model
