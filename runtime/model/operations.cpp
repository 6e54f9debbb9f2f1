// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/operations.hpp"

#include "kernels/layer_norm.hpp"
#include "kernels/linear.hpp"
#include "kernels/rms_norm.hpp"
#include "protocols/failure.hpp"
#include "runtime/model/recorded_operation.hpp"
#include "runtime/model/tensor_view.hpp"

#include <ATen/EmptyTensor.h>

#include <cstring>

namespace troupe::runtime::model {

using torch::Tensor;
using torch::autograd::variable_list;

Tensor empty_matrix(std::int64_t rows, std::int64_t cols) {
  return at::detail::empty_cpu({rows, cols}, at::kFloat);
}

Tensor linear(const Tensor& x, const Tensor& weight, kernels::thread_pool& pool,
              const Tensor& bias) {
  auto y = empty_matrix(x.size(0), weight.size(0));
  kernels::linear(as_const_matrix(x), as_const_matrix(weight),
                  bias.defined() ? bias.const_data_ptr<float>() : nullptr,
                  as_matrix(y), pool);
  if (is_recording({x, weight, bias}))
    record("linear", y, {x, weight, bias},
           [x, weight, bias, &pool](const Tensor& dy) {
             const auto dy_TN = as_const_matrix(dy);
             if (weight.requires_grad())
               kernels::linear_grad_weight(dy_TN, as_const_matrix(x),
                                           as_matrix(gradient_of(weight)),
                                           pool);
             if (bias.requires_grad())
               kernels::linear_grad_bias(
                 dy_TN, gradient_of(bias).mutable_data_ptr<float>(), pool);
             Tensor dx;
             if (x.requires_grad()) {
               dx = empty_matrix(x.size(0), x.size(1));
               kernels::linear_grad_input(dy_TN, as_const_matrix(weight),
                                          as_matrix(dx),
                                          kernels::into::overwrite, pool);
             }
             return variable_list{dx, {}, {}};
           });
  return y;
}

namespace {

/// [T, n * D] as [T * n, D].
kernels::const_matrix pieces_of(const Tensor& x, std::int64_t width) {
  return {x.const_data_ptr<float>(), x.numel() / width, width};
}
kernels::matrix pieces_to(const Tensor& x, std::int64_t width) {
  return {x.mutable_data_ptr<float>(), x.numel() / width, width};
}

/// A weight that takes no gradient gives it to a spare.
Tensor gradient_or_spare(const Tensor& weight) {
  return weight.requires_grad() ? gradient_of(weight)
                                : torch::zeros_like(weight);
}

} // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps,
                kernels::thread_pool& pool, double offset) {
  const bool records = is_recording({x, weight});
  const auto width = weight.size(0);
  const auto scale = offset == 0 ? weight : weight.detach() + offset;
  auto y = empty_matrix(x.size(0), x.size(1));
  Tensor inv_rms;
  if (records)
    inv_rms = empty_matrix(x.numel() / width, 1);
  kernels::rms_norm(pieces_of(x, width), scale.const_data_ptr<float>(),
                    static_cast<float>(eps), pieces_to(y, width),
                    records ? inv_rms.mutable_data_ptr<float>() : nullptr,
                    pool);
  if (records)
    record("rms_norm", y, {x, weight},
           [x, weight, scale, inv_rms, width, &pool](const Tensor& dy) {
             auto dweight = gradient_or_spare(weight);
             auto dx = empty_matrix(x.size(0), x.size(1));
             kernels::rms_norm_grad(
               pieces_of(dy, width), pieces_of(x, width),
               scale.const_data_ptr<float>(), inv_rms.const_data_ptr<float>(),
               pieces_to(dx, width), dweight.mutable_data_ptr<float>(), pool);
             return variable_list{dx, {}};
           });
  return y;
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  double eps, kernels::thread_pool& pool) {
  const bool records = is_recording({x, weight, bias});
  auto y = empty_matrix(x.size(0), x.size(1));
  std::vector<kernels::row_moments> moments(
    records ? static_cast<std::size_t>(x.size(0)) : 0);
  kernels::layer_norm(as_const_matrix(x), weight.const_data_ptr<float>(),
                      bias.const_data_ptr<float>(), static_cast<float>(eps),
                      as_matrix(y), records ? moments.data() : nullptr, pool);
  if (records)
    record(
      "layer_norm", y, {x, weight, bias},
      [x, weight, bias, moments = std::move(moments), &pool](const Tensor& dy) {
        auto dweight = gradient_or_spare(weight);
        auto dbias = gradient_or_spare(bias);
        auto dx = empty_matrix(x.size(0), x.size(1));
        kernels::layer_norm_grad(as_const_matrix(dy), as_const_matrix(x),
                                 weight.const_data_ptr<float>(), moments.data(),
                                 as_matrix(dx),
                                 dweight.mutable_data_ptr<float>(),
                                 dbias.mutable_data_ptr<float>(), pool);
        return variable_list{dx, {}, {}};
      });
  return y;
}

Tensor activate(const Tensor& x, kernels::activation f,
                kernels::thread_pool& pool) {
  auto y = empty_matrix(x.size(0), x.size(1));
  kernels::activate(as_const_matrix(x), f, as_matrix(y), pool);
  if (is_recording({x}))
    record("activate", y, {x}, [x, f, &pool](const Tensor& dy) {
      auto dx = empty_matrix(x.size(0), x.size(1));
      kernels::activate_grad(as_const_matrix(dy), as_const_matrix(x), f,
                             as_matrix(dx), pool);
      return variable_list{dx};
    });
  return y;
}

Tensor gated(const Tensor& gate, const Tensor& up, kernels::activation f,
             kernels::thread_pool& pool) {
  auto y = empty_matrix(gate.size(0), gate.size(1));
  kernels::gated(as_const_matrix(gate), as_const_matrix(up), f, as_matrix(y),
                 pool);
  if (is_recording({gate, up}))
    record("gated", y, {gate, up}, [gate, up, f, &pool](const Tensor& dy) {
      auto dgate = empty_matrix(gate.size(0), gate.size(1));
      auto dup = empty_matrix(gate.size(0), gate.size(1));
      kernels::gated_grad(as_const_matrix(dy), as_const_matrix(gate),
                          as_const_matrix(up), f, as_matrix(dgate),
                          as_matrix(dup), pool);
      return variable_list{dgate, dup};
    });
  return y;
}

Tensor embedding(const Tensor& ids, const Tensor& weight, double scale) {
  const auto width = weight.size(1);
  const auto table = as_const_matrix(weight);
  const auto num_ids = ids.size(0);
  auto y = empty_matrix(num_ids, width);
  const auto rows = as_matrix(y);
  const auto* id = ids.const_data_ptr<std::int32_t>();
  const auto row_bytes = static_cast<std::size_t>(width) * sizeof(float);
  for (std::int64_t t = 0; t < num_ids; ++t)
    std::memcpy(rows.row(t), table.row(id[t]), row_bytes);
  const auto factor = static_cast<float>(scale);
  if (factor != 1)
    y.mul_(factor);
  if (is_recording({weight}))
    record("embedding", y, {weight},
           [kept = ids.clone(), weight, width, factor](const Tensor& dy) {
             const auto from = as_const_matrix(dy);
             const auto to = as_matrix(gradient_of(weight));
             const auto* row = kept.const_data_ptr<std::int32_t>();
             for (std::int64_t t = 0; t < from.rows; ++t)
               for (std::int64_t d = 0; d < width; ++d)
                 to.row(row[t])[d] += factor * from.row(t)[d];
             return variable_list{Tensor{}};
           });
  return y;
}

Tensor add_residual(const Tensor& x, Tensor y) {
  if (is_recording({x, y}))
    return x + y;
  return y.add_(x);
}

} // namespace troupe::runtime::model
