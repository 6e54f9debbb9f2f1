// SPDX-License-Identifier: Apache-2.0
//
// A part of a model: it has children, parameters and buffers that the
// parameter factory of a sharding context made, and attributes that belong to
// its user: the runtime reads them on request and never writes one (M1). What
// the runtime knows about a module (names, ids) lives in the engine.
// Not torch::nn::Module: nothing here is looked up by a constructor patch.
#pragma once

#include "runtime/model/forward_context.hpp"
#include "runtime/shard/parameter.hpp"

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe::runtime::model {

/// A value that a user hangs on a module: an expert's id, say.
using attribute = std::variant<bool, std::int64_t, double, std::string>;

/// Invariants: names of children, parameters and buffers are unique within a
/// module. Thread: one at a time.
class module {
public:
  explicit module(std::string type_name);
  virtual ~module() = default;
  module(const module&) = delete;
  module& operator=(const module&) = delete;

  /// Maps rows to rows: x [T, in] -> [T, out]. With gradients enabled
  /// (at::GradMode) the result is differentiable, with the same bits as
  /// without.
  virtual torch::Tensor forward(const torch::Tensor& x,
                                const forward_context& context) = 0;

  struct named_child {
    std::string name;
    std::shared_ptr<module> value;
  };
  struct named_parameter {
    std::string name;
    std::shared_ptr<shard::parameter> value;
  };

  [[nodiscard]] const std::string& type_name() const { return type_name_; }
  [[nodiscard]] shard::object_id identity() const { return identity_; }

  /// Own ones only, in the order in which they were added. Parameters include
  /// buffers: see shard::parameter::kind.
  [[nodiscard]] const std::vector<named_child>& children() const {
    return children_;
  }
  [[nodiscard]] const std::vector<named_parameter>& parameters() const {
    return parameters_;
  }

  /// Swaps a child; the old one lives on only with other holders.
  /// Errors: attribute_missing.
  void replace_child(std::string_view name, std::shared_ptr<module> value);

  /// The user's, like any member of theirs.
  std::map<std::string, attribute, std::less<>> attributes;

  /// Parameters of the whole tree under dotted names, depth first; one that
  /// is reached twice is listed once, under its first name. Buffers too.
  [[nodiscard]] std::vector<named_parameter> named_parameters() const;

protected:
  /// What add_child returns; stays valid over replace_child.
  using child_index = std::size_t;
  using parameter_index = std::size_t;

  /// Errors: model_unsupported if the name is taken.
  child_index add_child(std::string name, std::shared_ptr<module> value);
  parameter_index add_parameter(std::string name,
                                std::shared_ptr<shard::parameter> value);

  [[nodiscard]] module& child(child_index index) const {
    return *children_[index].value;
  }
  [[nodiscard]] const torch::Tensor& tensor(parameter_index index) const {
    return parameters_[index].value->tensor();
  }

private:
  friend class engine;

  void require_free(std::string_view name) const;

  std::string type_name_;
  shard::object_id identity_;
  std::vector<named_child> children_;
  std::vector<named_parameter> parameters_;
  std::weak_ptr<const void> owner_; ///< the engine's token while it lives
};

/// Calls `visit` on `root` (name "") and all modules below under dotted names,
/// depth first; one that is reached twice is visited once.
void visit_modules(
  const std::shared_ptr<module>& root,
  const std::function<void(const std::string& name,
                           const std::shared_ptr<module>&)>& visit);

/// Children in a row, named "0", "1", ...; each gets the result of the last.
class module_list : public module {
public:
  module_list() : module("module_list") {}
  void append(std::shared_ptr<module> value);
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;
};

} // namespace troupe::runtime::model
