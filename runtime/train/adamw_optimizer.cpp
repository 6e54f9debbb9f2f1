// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/adamw_optimizer.hpp"

#include "kernels/adamw.hpp"
#include "protocols/failure.hpp"
#include "runtime/train/parameter_patterns.hpp"

#include <c10/util/StringUtil.h>

#include <cmath>
#include <cstring>

namespace troupe::runtime::train {

namespace {

std::span<float> values(const torch::Tensor& t) {
  return {t.mutable_data_ptr<float>(), static_cast<std::size_t>(t.numel())};
}

checkpoint::tensor_view view(const std::string& name, const torch::Tensor& t) {
  return {name, checkpoint::tensor_dtype::f32, t.sizes().vec(),
          static_cast<const std::byte*>(t.const_data_ptr()),
          static_cast<std::size_t>(t.nbytes())};
}

} // namespace

adamw_optimizer::adamw_optimizer(
  std::vector<std::shared_ptr<shard::parameter>> parameters,
  kernels::thread_pool& pool)
  : parameters_(std::move(parameters)), pool_(pool) {}

adamw_optimizer::gradient_norms adamw_optimizer::norms() const {
  gradient_norms out; // of squares at first
  for (const auto& p : parameters_) {
    auto& part = out.by_part[std::string{part_of_decoder(p->name())}];
    if (const auto& gradient = p->tensor().grad(); gradient.defined()) {
      const double squares = kernels::sum_of_squares(values(gradient), pool_);
      out.all += squares;
      part += squares;
    }
  }
  out.all = std::sqrt(out.all);
  for (auto& [name, norm] : out.by_part)
    norm = std::sqrt(norm);
  return out;
}

void adamw_optimizer::update(const config::optimizer_block& settings,
                             double learning_rate, double gradient_scale) {
  if (first_.empty())
    for (const auto& p : parameters_) {
      first_.push_back(torch::zeros_like(p->tensor().detach()));
      second_.push_back(torch::zeros_like(p->tensor().detach()));
    }
  ++num_updates_;
  kernels::adamw_settings step{
    .learning_rate = static_cast<float>(learning_rate),
    .beta1 = static_cast<float>(settings.beta1),
    .beta2 = static_cast<float>(settings.beta2),
    .epsilon = static_cast<float>(settings.epsilon),
    .step = num_updates_,
    .grad_scale = static_cast<float>(gradient_scale)};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& gradient = parameters_[i]->tensor().grad();
    if (!gradient.defined())
      continue;
    step.weight_decay =
      fits_any(settings.no_weight_decay, parameters_[i]->name())
        ? 0
        : static_cast<float>(settings.weight_decay);
    kernels::adamw(values(parameters_[i]->tensor()), values(gradient),
                   values(first_[i]), values(second_[i]), step, pool_);
  }
  drop_gradients();
}

void adamw_optimizer::drop_gradients() {
  for (const auto& p : parameters_)
    if (const auto& gradient = p->tensor().grad(); gradient.defined())
      std::memset(gradient.mutable_data_ptr(), 0,
                  static_cast<std::size_t>(gradient.nbytes()));
}

void adamw_optimizer::reset() {
  first_.clear();
  second_.clear();
  num_updates_ = 0;
}

std::vector<checkpoint::tensor_view> adamw_optimizer::state() const {
  std::vector<checkpoint::tensor_view> out;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    out.push_back(view(parameters_[i]->name() + ".first", first_[i]));
    out.push_back(view(parameters_[i]->name() + ".second", second_[i]));
  }
  return out;
}

void adamw_optimizer::restore(const checkpoint::safetensors_reader& from,
                              std::int64_t num_updates) {
  std::vector<torch::Tensor> first, second;
  const auto read = [&](const shard::parameter& p, const char* suffix) {
    const auto& found = from.at(p.name() + suffix);
    if (found.shape != p.tensor().sizes().vec())
      throw protocols::failure(
        protocols::errc::model_mismatch,
        c10::str("optimizer state '", found.name, "' has the shape ",
                 at::IntArrayRef{found.shape}, ", its parameter ",
                 p.tensor().sizes()));
    auto made = torch::empty_like(p.tensor().detach());
    checkpoint::to_f32(found, values(made));
    return made;
  };
  if (num_updates > 0)
    for (const auto& p : parameters_) {
      first.push_back(read(*p, ".first"));
      second.push_back(read(*p, ".second"));
    }
  first_ = std::move(first);
  second_ = std::move(second);
  num_updates_ = num_updates;
}

} // namespace troupe::runtime::train
