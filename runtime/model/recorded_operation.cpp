// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/recorded_operation.hpp"

#include "protocols/failure.hpp"

#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>

namespace troupe::runtime::model {

namespace {

class recorded_operation : public torch::autograd::Node {
public:
  recorded_operation(const char* name, gradient_function gradient)
    : name_(name), gradient_(std::move(gradient)) {}

  std::string name() const override { return name_; }

  void release_variables() override { gradient_ = nullptr; }

private:
  torch::autograd::variable_list
  apply(torch::autograd::variable_list&& gradients) override {
    TROUPE_ASSERT(gradient_, "a graph is walked backward once");
    if (!gradients[0].defined())
      return torch::autograd::variable_list(num_outputs());
    const at::NoGradGuard no_grad;
    return gradient_(gradients[0].contiguous());
  }

  const char* name_;
  gradient_function gradient_;
};

} // namespace

bool is_recording(std::initializer_list<torch::Tensor> inputs) {
  return at::GradMode::is_enabled()
         && std::any_of(inputs.begin(), inputs.end(), [](const auto& input) {
              return input.requires_grad();
            });
}

void record(const char* name, torch::Tensor& result,
            std::initializer_list<torch::Tensor> inputs,
            gradient_function gradient) {
  // LibTorch's deleter takes long graphs apart without recursion.
  const std::shared_ptr<recorded_operation> node(
    new recorded_operation{name, std::move(gradient)},
    torch::autograd::deleteNode);
  torch::autograd::edge_list edges;
  for (const auto& input : inputs)
    edges.push_back(input.requires_grad()
                      ? torch::autograd::impl::gradient_edge(input)
                      : torch::autograd::Edge{});
  node->set_next_edges(std::move(edges));
  torch::autograd::set_history(result, node);
}

torch::Tensor gradient_of(const torch::Tensor& leaf) {
  TROUPE_ASSERT(leaf.is_leaf(), "weights of operations are leaves");
  if (!leaf.grad().defined())
    leaf.mutable_grad() = torch::zeros_like(leaf).detach();
  return leaf.grad();
}

} // namespace troupe::runtime::model
