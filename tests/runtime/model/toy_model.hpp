// SPDX-License-Identifier: Apache-2.0
//
// A model without arithmetic to speak of: blocks that scale their rows, and an
// optimizer that takes plain steps.
#pragma once

#include "runtime/model/module.hpp"
#include "runtime/model/optimizer.hpp"
#include "runtime/shard/sharding_context.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe::tests {

namespace model = runtime::model;
namespace shard = runtime::shard;

class toy_block : public model::module {
public:
  toy_block(shard::parameter_factory& factory, const std::string& name,
            std::int64_t width)
    : module("toy_block") {
    add_parameter(
      "weight", factory.make_parameter({.name = name + ".weight",
                                        .shape = {width},
                                        .fill = shard::initialisation::ones}));
  }

  torch::Tensor forward(const torch::Tensor& x,
                        const model::forward_context&) override {
    return x * tensor(0);
  }
};

/// Holds one other module under "inner".
class toy_wrapper : public model::module {
public:
  explicit toy_wrapper(std::shared_ptr<module> inner) : module("toy_wrapper") {
    add_child("inner", std::move(inner));
  }

  torch::Tensor forward(const torch::Tensor& x,
                        const model::forward_context& context) override {
    return child(0).forward(x, context);
  }
};

/// What a test builds in: its own context on one rank, and blocks out of it.
struct toy_workshop {
  shard::fresh_source source{7};
  shard::sharding_context context{{}, source};

  std::shared_ptr<model::module> block(const std::string& name,
                                       std::int64_t width = 4) {
    return std::make_shared<toy_block>(context.factory(), name, width);
  }

  /// A list of blocks "0", "1", ...
  std::shared_ptr<model::module_list> list(int num_blocks,
                                           std::int64_t width = 4) {
    auto made = std::make_shared<model::module_list>();
    for (int i = 0; i < num_blocks; ++i)
      made->append(block(std::to_string(i), width));
    return made;
  }
};

class toy_optimizer : public model::optimizer {
public:
  explicit toy_optimizer(const model::module& trained) {
    for (const auto& held : trained.named_parameters())
      parameters_.push_back(held.value);
  }

  [[nodiscard]] std::string type_name() const override {
    return "toy_optimizer";
  }

  [[nodiscard]] std::vector<std::shared_ptr<shard::parameter>>
  parameters() const override {
    return parameters_;
  }

  /// weight -= 0.1 * gradient.
  void step() {
    const at::NoGradGuard no_grad;
    for (const auto& held : parameters_) {
      auto tensor = held->tensor();
      tensor.sub_(tensor.grad(), 0.1);
      tensor.mutable_grad() = torch::Tensor{};
    }
  }

private:
  std::vector<std::shared_ptr<shard::parameter>> parameters_;
};

} // namespace troupe::tests
