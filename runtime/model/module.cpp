// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/module.hpp"

#include "protocols/failure.hpp"

#include <algorithm>
#include <unordered_set>

namespace troupe::runtime::model {

namespace {

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

using visitor =
  std::function<void(const std::string&, const std::shared_ptr<module>&)>;

void visit_below(const std::string& name, const std::shared_ptr<module>& at,
                 std::unordered_set<shard::object_id>& seen,
                 const visitor& visit) {
  if (!seen.insert(at->identity()).second)
    return;
  visit(name, at);
  for (const auto& child : at->children())
    visit_below(joined(name, child.name), child.value, seen, visit);
}

void collect_parameters(const std::string& prefix, const module& at,
                        std::unordered_set<shard::object_id>& seen,
                        std::vector<module::named_parameter>& found) {
  for (const auto& own : at.parameters())
    if (seen.insert(own.value->identity()).second)
      found.push_back({joined(prefix, own.name), own.value});
  for (const auto& child : at.children())
    collect_parameters(joined(prefix, child.name), *child.value, seen, found);
}

} // namespace

module::module(std::string type_name) :type_name_(std::move(type_name)),
  identity_(shard::next_object_id()) {}

void module::replace_child(std::string_view name,
                           std::shared_ptr<module> value) {
  for (auto& held : children_)
    if (held.name == name) {
      held.value = std::move(value);
      return;
    }
  throw protocols::failure{protocols::errc::attribute_missing,
                           "'" + type_name_ + "' object has no attribute '"
                             + std::string{name} + "'"};
}

std::vector<module::named_parameter> module::named_parameters() const {
  std::vector<named_parameter> found;
  std::unordered_set<shard::object_id> seen;
  collect_parameters("", *this, seen, found);
  return found;
}

module::child_index module::add_child(std::string name,
                                      std::shared_ptr<module> value) {
  require_free(name);
  children_.push_back({std::move(name), std::move(value)});
  return children_.size() - 1;
}

module::parameter_index
module::add_parameter(std::string name,
                      std::shared_ptr<shard::parameter> value) {
  require_free(name);
  parameters_.push_back({std::move(name), std::move(value)});
  return parameters_.size() - 1;
}

void module::require_free(std::string_view name) const {
  const auto has_name = [name](const auto& held) { return held.name == name; };
  if (std::any_of(children_.begin(), children_.end(), has_name)
      || std::any_of(parameters_.begin(), parameters_.end(), has_name))
    throw protocols::failure{protocols::errc::model_unsupported,
                             "a module of type '" + type_name_ + "' adds '"
                               + std::string{name}
                               + "' twice; names within a module are unique"};
}

void visit_modules(const std::shared_ptr<module>& root, const visitor& visit) {
  std::unordered_set<shard::object_id> seen;
  visit_below("", root, seen, visit);
}

void module_list::append(std::shared_ptr<module> value) {
  add_child(std::to_string(children().size()), std::move(value));
}

torch::Tensor module_list::forward(const torch::Tensor& x,
                                   const forward_context& context) {
  auto rows = x;
  for (const auto& held : children())
    rows = held.value->forward(rows, context);
  return rows;
}

} // namespace troupe::runtime::model
