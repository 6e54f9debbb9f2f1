// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/shard/parameter.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe::runtime::model {

/// What an engine needs to know of an optimizer: whose parameters it updates.
class optimizer {
public:
  virtual ~optimizer() = default;

  [[nodiscard]] virtual std::string type_name() const = 0;

  [[nodiscard]] virtual std::vector<std::shared_ptr<shard::parameter>>
  parameters() const = 0;

private:
  friend class engine;
  std::weak_ptr<const void> owner_; ///< the engine's token while it lives
};

} // namespace troupe::runtime::model
