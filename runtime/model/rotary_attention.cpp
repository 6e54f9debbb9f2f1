// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"
#include "protocols/failure.hpp"
#include "runtime/model/operations.hpp"
#include "runtime/model/recorded_operation.hpp"
#include "runtime/model/tensor_view.hpp"

#include <cmath>
#include <cstring>

namespace troupe::runtime::model {

namespace {

using kernels::attention_row;
using torch::Tensor;
using torch::autograd::variable_list;

kernels::attention_shape shape_of(const attention_heads& heads) {
  return {.num_heads = heads.num_heads,
          .num_kv_heads = heads.num_kv_heads,
          .head_width = heads.head_width,
          .scale = static_cast<float>(
            1 / std::sqrt(static_cast<double>(heads.head_width)))};
}

std::vector<attention_row> rows_of(const packed_sequences& packed,
                                   kernels::const_matrix keys,
                                   kernels::const_matrix values) {
  std::vector<attention_row> rows;
  rows.reserve(static_cast<std::size_t>(keys.rows));
  for (std::size_t s = 0; s + 1 < packed.offsets.size(); ++s) {
    const auto begin = packed.offsets[s], end = packed.offsets[s + 1];
    for (auto t = begin; t < end; ++t)
      rows.push_back(
        {keys.row(begin), values.row(begin), t - begin + 1, keys.stride});
  }
  return rows;
}

/// Writes keys and values of the rows into the cache, and says what each row
/// attends to there.
std::vector<attention_row> rows_of(const cached_rows& cached,
                                   std::span<const std::int32_t> positions,
                                   std::int64_t layer_index,
                                   kernels::const_matrix keys,
                                   kernels::const_matrix values) {
  const auto& layer = cached.layers[static_cast<std::size_t>(layer_index)];
  const auto row_bytes = static_cast<std::size_t>(keys.cols) * sizeof(float);
  std::vector<attention_row> rows;
  rows.reserve(positions.size());
  for (std::size_t t = 0; t < positions.size(); ++t) {
    const auto slot = cached.slots[t] * cached.slot_stride;
    const auto at = slot + positions[t] * cached.row_stride;
    const auto row = static_cast<std::int64_t>(t);
    std::memcpy(layer.keys + at, keys.row(row), row_bytes);
    std::memcpy(layer.values + at, values.row(row), row_bytes);
    rows.push_back({layer.keys + slot, layer.values + slot, positions[t] + 1,
                    cached.row_stride});
  }
  return rows;
}

void rotate(const Tensor& x, std::int64_t num_heads,
            std::span<const std::int32_t> positions,
            const attention_heads& heads, kernels::rotation direction,
            kernels::thread_pool& pool) {
  kernels::apply_rotary(as_matrix(x), num_heads, positions.data(),
                        *heads.rotary, direction, pool);
}

} // namespace

Tensor rotary_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                        const attention_heads& heads,
                        const forward_context& context) {
  const bool records = is_recording({q, k, v});
  const auto* packed = std::get_if<packed_sequences>(&context.attention);
  auto& pool = context.pool;
  const auto forward = kernels::rotation::forward;
  rotate(q, heads.num_heads, context.positions, heads, forward, pool);
  rotate(k, heads.num_kv_heads, context.positions, heads, forward, pool);
  const auto rows =
    packed
      ? rows_of(*packed, as_const_matrix(k), as_const_matrix(v))
      : rows_of(std::get<cached_rows>(context.attention), context.positions,
                heads.layer_index, as_const_matrix(k), as_const_matrix(v));

  auto out = empty_matrix(q.size(0), q.size(1));
  Tensor log_sum_exp;
  if (records)
    log_sum_exp = empty_matrix(q.size(0), heads.num_heads);
  kernels::attention(as_const_matrix(q), rows, shape_of(heads), as_matrix(out),
                     records ? log_sum_exp.mutable_data_ptr<float>() : nullptr,
                     pool);
  if (!records)
    return out;

  TROUPE_ASSERT(packed, "rows of a cache have no gradients: disable them");
  std::vector<std::int32_t> offsets(packed->offsets.begin(),
                                    packed->offsets.end());
  std::vector<std::int32_t> positions(context.positions.begin(),
                                      context.positions.end());
  record("rotary_attention", out, {q, k, v},
         [q, k, v, kept = out.detach(), log_sum_exp, heads, &pool,
          offsets = std::move(offsets),
          positions = std::move(positions)](const Tensor& dout) {
           auto dq = empty_matrix(q.size(0), q.size(1));
           auto dk = empty_matrix(k.size(0), k.size(1));
           auto dv = empty_matrix(v.size(0), v.size(1));
           kernels::attention_grad(
             as_const_matrix(dout), as_const_matrix(q), as_const_matrix(k),
             as_const_matrix(v), as_const_matrix(kept),
             log_sum_exp.const_data_ptr<float>(), offsets, shape_of(heads),
             as_matrix(dq), as_matrix(dk), as_matrix(dv), pool);
           const auto inverse = kernels::rotation::inverse;
           rotate(dq, heads.num_heads, positions, heads, inverse, pool);
           rotate(dk, heads.num_kv_heads, positions, heads, inverse, pool);
           return variable_list{dq, dk, dv};
         });
  return out;
}

} // namespace troupe::runtime::model
