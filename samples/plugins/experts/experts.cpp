// SPDX-License-Identifier: Apache-2.0
//
// A plug-in with a feed-forward part of its own: 60 experts, of which each
// token passes through the one that its gate likes best. In a job:
//
//   model:
//     plugins: [build/lib/plugins/libexperts.so]
//     fresh: {mlp: expert_mlp, ...}
//
// Each expert carries an attribute "id" of ours, 0 to 59: which device it shall
// live on, say. The runtime never touches it.
// Source: Fedus et al., Switch Transformers, section 2.1. Differs: no capacity
// limit and no balancing loss.
#include "runtime/model/layers.hpp"
#include "runtime/model/load_plugin.hpp"
#include "runtime/model/operations.hpp"

using namespace troupe::runtime::model;

namespace {

constexpr std::int64_t num_experts = 60;

class expert : public module {
public:
  explicit expert(const module_arguments& arguments) : module("expert") {
    const auto narrow = arguments.config.hidden_size;
    const auto wide = arguments.config.intermediate_size;
    up_ = add_child("up_proj", std::make_shared<linear_layer>(
                                 below(arguments, "up_proj"), narrow, wide));
    down_ =
      add_child("down_proj", std::make_shared<linear_layer>(
                               below(arguments, "down_proj"), wide, narrow));
  }

  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override {
    return child(down_).forward(torch::silu(child(up_).forward(x, context)),
                                context);
  }

private:
  child_index up_, down_;
};

class expert_mlp : public module {
public:
  explicit expert_mlp(const module_arguments& arguments)
    : module("expert_mlp") {
    gate_ = add_child("gate", std::make_shared<linear_layer>(
                                below(arguments, "gate"),
                                arguments.config.hidden_size, num_experts));
    auto experts = std::make_shared<module_list>();
    for (std::int64_t id = 0; id < num_experts; ++id) {
      auto made = std::make_shared<expert>(
        below(arguments, "experts." + std::to_string(id)));
      made->attributes["id"] = id;
      experts->append(std::move(made));
    }
    experts_ = add_child("experts", std::move(experts));
  }

  /// y[t] = p[t, e] * expert_e(x[t]) with e = argmax p[t], p = softmax(gate).
  /// An expert that no token chose gets no gradient in that pass.
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override {
    const auto weights_TX =
      torch::softmax(child(gate_).forward(x, context), -1);
    const auto [best_T, chosen_T] = weights_TX.max(-1);
    auto y = torch::zeros_like(x);
    const auto& experts = child(experts_).children();
    for (std::int64_t id = 0; id < num_experts; ++id) {
      const auto rows = (chosen_T == id).nonzero().flatten();
      if (rows.numel() == 0)
        continue;
      const auto out = experts[static_cast<std::size_t>(id)].value->forward(
        x.index_select(0, rows), context);
      y = y.index_add(0, rows, out * best_T.index_select(0, rows).unsqueeze(1));
    }
    return y;
  }

private:
  child_index gate_, experts_;
};

} // namespace

extern "C" int troupe_plugin_abi() {
  return TROUPE_PLUGIN_ABI;
}

extern "C" void troupe_register_modules(module_registry& registry) {
  registry.add("expert_mlp", [](const module_arguments& arguments) {
    return std::make_shared<expert_mlp>(arguments);
  });
}
