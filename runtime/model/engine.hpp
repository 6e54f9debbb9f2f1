// SPDX-License-Identifier: Apache-2.0
//
// An engine binds a model, the optimizer that trains it, and a group of ranks.
// Everything that the runtime knows about the model's parts is kept here:
// names (W1-W6), dense ids (M1, M2), further resources (D1-D5).
// Invariants: M3 an object belongs to one living engine at most. M4 engines
// are independent of each other. M5 destroy leaves no trace. M6 an optimizer's
// parameters are the model's.
// Example:
//   auto e = engine::initialize({.model = model, .optimizer = adamw});
//   e->model_as<decoder>().hidden(ids, context);
#pragma once

#include "protocols/failure.hpp"
#include "runtime/model/module.hpp"
#include "runtime/model/name_map.hpp"
#include "runtime/model/optimizer.hpp"
#include "runtime/model/resource_scope.hpp"
#include "runtime/shard/sharding_context.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace troupe::runtime::model {

/// What a test may break on purpose, to see that it would notice.
enum class engine_mutation : std::uint8_t {
  none,
  names_own_objects,      ///< breaks W1
  clear_does_nothing,     ///< breaks W5
  destroy_keeps_owner,    ///< breaks M5
  ids_in_user_attributes, ///< breaks M1
  ids_process_wide,       ///< breaks M2
  owners_unchecked,       ///< breaks M3
  optimizer_unchecked,    ///< breaks M6
};

struct engine_arguments {
  std::shared_ptr<module> model;
  std::shared_ptr<model::optimizer> optimizer = nullptr; ///< none: not trained
  shard::rank_group group = {};
  engine_mutation mutation = engine_mutation::none; ///< tests only
};

/// Thread: the compute queue.
class engine {
public:
  /// Errors: already_owned, naming the model or optimizer; foreign_parameter,
  /// naming it; unsupported for a group of several ranks. Nothing has changed
  /// then.
  static std::unique_ptr<engine> initialize(engine_arguments arguments);

  ~engine() { destroy(); }
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Errors: refused_by_state after destroy.
  [[nodiscard]] const std::shared_ptr<module>& model() const;

  /// The model as the type that it was made as.
  /// Errors: refused_by_state after destroy; model_unsupported if it is none.
  template <class Model>
  [[nodiscard]] Model& model_as() const {
    if (auto* typed = dynamic_cast<Model*>(model().get()))
      return *typed;
    throw protocols::failure{protocols::errc::model_unsupported,
                             "the engine's model is a '" + model()->type_name()
                               + "', which this call can't use"};
  }

  /// Returns null for a model that is not trained, and after destroy.
  [[nodiscard]] const std::shared_ptr<model::optimizer>& optimizer() const {
    return optimizer_;
  }

  /// See resource_scope.
  void set_resource(const std::string& name, resource value);
  [[nodiscard]] resource find(std::string_view name) const;

  /// Ids are 0, 1, ... in the order of visit_modules, for the modules there
  /// were at initialize.
  /// Errors: attribute_missing for another module.
  [[nodiscard]] std::int64_t module_id(const module& part) const;

  /// Returns "unknown" for what has no name; the root's name is "".
  [[nodiscard]] std::string name_of(const module& part) const;
  [[nodiscard]] std::string name_of(const shard::parameter& part) const;
  [[nodiscard]] std::size_t num_named_modules() const;
  [[nodiscard]] std::size_t num_named_parameters() const;
  void clear_names();
  void extract_names(); ///< anew, from the model as it is now

  /// Frees model and optimizer for another engine and forgets all. Twice is
  /// as good as once.
  void destroy() noexcept;

private:
  explicit engine(engine_arguments arguments);

  std::shared_ptr<module> model_;
  std::shared_ptr<model::optimizer> optimizer_;
  engine_mutation mutation_;
  std::shared_ptr<const void> token_; ///< what owned objects point to, weakly
  resource_scope resources_{"engine"};
  name_map module_names_, parameter_names_;
  std::unordered_map<shard::object_id, std::int64_t> module_ids_;
};

} // namespace troupe::runtime::model
