// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/operations.hpp"

#include "kernels/linear.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/swiglu.hpp"
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

Tensor linear(const Tensor& x, const Tensor& weight,
              kernels::thread_pool& pool) {
  auto y = empty_matrix(x.size(0), weight.size(0));
  kernels::linear(as_const_matrix(x), as_const_matrix(weight), nullptr,
                  as_matrix(y), pool);
  if (is_recording({x, weight}))
    record("linear", y, {x, weight}, [x, weight, &pool](const Tensor& dy) {
      if (weight.requires_grad())
        kernels::linear_grad_weight(as_const_matrix(dy), as_const_matrix(x),
                                    as_matrix(gradient_of(weight)), pool);
      Tensor dx;
      if (x.requires_grad()) {
        dx = empty_matrix(x.size(0), x.size(1));
        kernels::linear_grad_input(as_const_matrix(dy), as_const_matrix(weight),
                                   as_matrix(dx), kernels::into::overwrite,
                                   pool);
      }
      return variable_list{dx, {}};
    });
  return y;
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps,
                kernels::thread_pool& pool) {
  const bool records = is_recording({x, weight});
  auto y = empty_matrix(x.size(0), x.size(1));
  Tensor inv_rms;
  if (records)
    inv_rms = empty_matrix(x.size(0), 1);
  kernels::rms_norm(
    as_const_matrix(x), weight.const_data_ptr<float>(), static_cast<float>(eps),
    as_matrix(y), records ? inv_rms.mutable_data_ptr<float>() : nullptr, pool);
  if (records)
    record("rms_norm", y, {x, weight},
           [x, weight, inv_rms, &pool](const Tensor& dy) {
             // A weight that takes no gradient gives it to a spare.
             auto dweight = weight.requires_grad() ? gradient_of(weight)
                                                   : torch::zeros_like(weight);
             auto dx = empty_matrix(x.size(0), x.size(1));
             kernels::rms_norm_grad(
               as_const_matrix(dy), as_const_matrix(x),
               weight.const_data_ptr<float>(), inv_rms.const_data_ptr<float>(),
               as_matrix(dx), dweight.mutable_data_ptr<float>(), pool);
             return variable_list{dx, {}};
           });
  return y;
}

Tensor swiglu(const Tensor& gate, const Tensor& up,
              kernels::thread_pool& pool) {
  auto y = empty_matrix(gate.size(0), gate.size(1));
  kernels::swiglu(as_const_matrix(gate), as_const_matrix(up), as_matrix(y),
                  pool);
  if (is_recording({gate, up}))
    record("swiglu", y, {gate, up}, [gate, up, &pool](const Tensor& dy) {
      auto dgate = empty_matrix(gate.size(0), gate.size(1));
      auto dup = empty_matrix(gate.size(0), gate.size(1));
      kernels::swiglu_grad(as_const_matrix(dy), as_const_matrix(gate),
                           as_const_matrix(up), as_matrix(dgate),
                           as_matrix(dup), pool);
      return variable_list{dgate, dup};
    });
  return y;
}

Tensor embedding(const Tensor& ids, const Tensor& weight) {
  const auto width = weight.size(1);
  const auto table = as_const_matrix(weight);
  const auto num_ids = ids.size(0);
  auto y = empty_matrix(num_ids, width);
  const auto rows = as_matrix(y);
  const auto* id = ids.const_data_ptr<std::int32_t>();
  const auto row_bytes = static_cast<std::size_t>(width) * sizeof(float);
  for (std::int64_t t = 0; t < num_ids; ++t)
    std::memcpy(rows.row(t), table.row(id[t]), row_bytes);
  if (is_recording({weight}))
    record("embedding", y, {weight},
           [kept = ids.clone(), weight, width](const Tensor& dy) {
             const auto from = as_const_matrix(dy);
             const auto to = as_matrix(gradient_of(weight));
             const auto* row = kept.const_data_ptr<std::int32_t>();
             for (std::int64_t t = 0; t < from.rows; ++t)
               for (std::int64_t d = 0; d < width; ++d)
                 to.row(row[t])[d] += from.row(t)[d];
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
