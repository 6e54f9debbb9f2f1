// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/engine.hpp"

#include <unordered_set>

namespace troupe::runtime::model {

namespace {

using protocols::errc;
using protocols::failure;

/// What identifies a living engine to the objects that it owns.
struct engine_token {};

name_map_mutation names_mutation(engine_mutation mutation) {
  switch (mutation) {
  case engine_mutation::names_own_objects:
    return name_map_mutation::owns_objects;
  case engine_mutation::clear_does_nothing:
    return name_map_mutation::clear_does_nothing;
  default: return name_map_mutation::none;
  }
}

void refuse_owned(std::string_view kind, const std::string& type_name) {
  throw failure{errc::already_owned,
                std::string{kind} + " '" + type_name
                  + "' belongs to a living engine already; destroy that engine "
                    "first, or initialize with another "
                  + std::string{kind}};
}

void require_known_parameters(const module& model, const optimizer& optimizer) {
  std::unordered_set<shard::object_id> known;
  for (const auto& held : model.named_parameters())
    known.insert(held.value->identity());
  for (const auto& held : optimizer.parameters())
    if (!known.contains(held->identity()))
      throw failure{errc::foreign_parameter,
                    "optimizer '" + optimizer.type_name()
                      + "' updates the parameter '" + held->name()
                      + "', which is none of the model '" + model.type_name()
                      + "'; make it from the model's named_parameters()"};
}

} // namespace

std::unique_ptr<engine> engine::initialize(engine_arguments arguments) {
  shard::require_one_rank(arguments.group);
  const auto& model = *arguments.model;
  const auto* optimizer = arguments.optimizer.get();
  if (arguments.mutation != engine_mutation::owners_unchecked) {
    if (!model.owner_.expired())
      refuse_owned("model", model.type_name());
    if (optimizer && !optimizer->owner_.expired())
      refuse_owned("optimizer", optimizer->type_name());
  }
  if (optimizer && arguments.mutation != engine_mutation::optimizer_unchecked)
    require_known_parameters(model, *optimizer);
  return std::unique_ptr<engine>{new engine{std::move(arguments)}};
}

engine::engine(engine_arguments arguments)
  : model_(std::move(arguments.model)),
    optimizer_(std::move(arguments.optimizer)), mutation_(arguments.mutation),
    token_(std::make_shared<engine_token>()),
    module_names_(names_mutation(mutation_)),
    parameter_names_(names_mutation(mutation_)) {
  static std::int64_t ids_given = 0; // of the mutation ids_process_wide
  const bool process_wide = mutation_ == engine_mutation::ids_process_wide;
  visit_modules(
    model_, [&](const std::string&, const std::shared_ptr<module>& part) {
      const auto id = process_wide
                        ? ids_given++
                        : static_cast<std::int64_t>(module_ids_.size());
      module_ids_.emplace(part->identity(), id);
      if (mutation_ == engine_mutation::ids_in_user_attributes)
        part->attributes.insert_or_assign("id", id);
    });
  extract_names();
  resources_.set_model(model_);
  model_->owner_ = token_;
  if (optimizer_)
    optimizer_->owner_ = token_;
}

const std::shared_ptr<module>& engine::model() const {
  if (!model_)
    throw failure{errc::refused_by_state,
                  "the engine has been destroyed and has no model; initialize "
                  "another one"};
  return model_;
}

void engine::set_resource(const std::string& name, resource value) {
  resources_.set(name, std::move(value));
}

resource engine::find(std::string_view name) const {
  return resources_.find(name);
}

std::int64_t engine::module_id(const module& part) const {
  const auto held = module_ids_.find(part.identity());
  if (held == module_ids_.end())
    throw failure{errc::attribute_missing,
                  "a module of type '" + part.type_name()
                    + "' has no id in this engine: it was not part of the "
                      "model at initialize"};
  return held->second;
}

std::string engine::name_of(const module& part) const {
  return module_names_.name_of(part.identity());
}

std::string engine::name_of(const shard::parameter& part) const {
  return parameter_names_.name_of(part.identity());
}

std::size_t engine::num_named_modules() const {
  return module_names_.size();
}

std::size_t engine::num_named_parameters() const {
  return parameter_names_.size();
}

void engine::clear_names() {
  module_names_.clear();
  parameter_names_.clear();
}

void engine::extract_names() {
  clear_names();
  visit_modules(model(), [this](const std::string& name,
                                const std::shared_ptr<module>& part) {
    module_names_.insert(part->identity(), part, name);
  });
  for (const auto& held : model_->named_parameters())
    parameter_names_.insert(held.value->identity(), held.value, held.name);
}

void engine::destroy() noexcept {
  if (mutation_ == engine_mutation::destroy_keeps_owner)
    return;
  token_.reset();
  clear_names();
  module_ids_.clear();
  resources_ = resource_scope{"engine"};
  optimizer_.reset();
  model_.reset();
}

} // namespace troupe::runtime::model
