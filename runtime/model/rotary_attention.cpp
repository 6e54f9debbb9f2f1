// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"
#include "protocols/failure.hpp"
#include "runtime/model/operations.hpp"
#include "runtime/model/recorded_operation.hpp"
#include "runtime/model/tensor_view.hpp"

#include <algorithm>
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
            heads.scale > 0
              ? heads.scale
              : 1 / std::sqrt(static_cast<double>(heads.head_width))),
          .softcap = static_cast<float>(heads.softcap)};
}

/// The keys of packed sequences, one sequence after another: those of
/// sequence s are [offsets[s], offsets[s + 1]), its prefix first.
struct key_order {
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> sources; ///< row of each; empty: as they stand
};

key_order order_of(const packed_sequences& packed) {
  if (std::ranges::all_of(packed.prefixes, [](const row_range& prefix) {
        return prefix.begin == prefix.end;
      }))
    return {{packed.offsets.begin(), packed.offsets.end()}, {}};
  key_order order{{0}, {}};
  const auto append = [&](std::int32_t begin, std::int32_t end) {
    for (auto row = begin; row < end; ++row)
      order.sources.push_back(row);
  };
  for (std::size_t s = 0; s < packed.prefixes.size(); ++s) {
    append(packed.prefixes[s].begin, packed.prefixes[s].end);
    append(packed.offsets[s], packed.offsets[s + 1]);
    order.offsets.push_back(static_cast<std::int32_t>(order.sources.size()));
  }
  return order;
}

/// Returns keys or values in that order.
Tensor gather(const Tensor& x, const key_order& order) {
  if (order.sources.empty())
    return x;
  auto y = empty_matrix(order.offsets.back(), x.size(1));
  const auto from = as_const_matrix(x);
  const auto to = as_matrix(y);
  for (std::int64_t i = 0; i < to.rows; ++i)
    std::memcpy(to.row(i), from.row(order.sources[static_cast<std::size_t>(i)]),
                static_cast<std::size_t>(to.cols) * sizeof(float));
  return y;
}

/// The gradient of gather: rows that were gathered several times add up, in
/// rising order.
Tensor gather_grad(const Tensor& dy, const key_order& order,
                   std::int64_t num_rows) {
  if (order.sources.empty())
    return dy;
  auto dx = empty_matrix(num_rows, dy.size(1)).zero_();
  const auto from = as_const_matrix(dy);
  const auto to = as_matrix(dx);
  for (std::int64_t i = 0; i < from.rows; ++i) {
    auto* row = to.row(order.sources[static_cast<std::size_t>(i)]);
    for (std::int64_t d = 0; d < to.cols; ++d)
      row[d] += from.row(i)[d];
  }
  return dx;
}

/// The first of so many keys that a window leaves.
std::int64_t first_key_of(std::int64_t num_keys, std::int64_t window) {
  return window == 0 ? 0 : std::max<std::int64_t>(num_keys - window, 0);
}

std::vector<attention_row> rows_of(std::span<const std::int32_t> offsets,
                                   const key_order& order, std::int64_t window,
                                   kernels::const_matrix keys,
                                   kernels::const_matrix values) {
  std::vector<attention_row> rows;
  rows.reserve(static_cast<std::size_t>(offsets.back()));
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const auto begin = order.offsets[s], end = order.offsets[s + 1];
    for (auto t = offsets[s]; t < offsets[s + 1]; ++t) {
      const std::int64_t num_keys = end - begin - (offsets[s + 1] - 1 - t);
      rows.push_back({keys.row(begin), values.row(begin), num_keys, keys.stride,
                      first_key_of(num_keys, window)});
    }
  }
  return rows;
}

/// Writes keys and values of the rows into the cache, and says what each row
/// attends to there.
std::vector<attention_row> rows_of(const cached_rows& cached,
                                   std::span<const std::int32_t> positions,
                                   const attention_heads& heads,
                                   kernels::const_matrix keys,
                                   kernels::const_matrix values) {
  const auto& layer =
    cached.layers[static_cast<std::size_t>(heads.layer_index)];
  const auto row_bytes = static_cast<std::size_t>(keys.cols) * sizeof(float);
  std::vector<attention_row> rows;
  rows.reserve(positions.size());
  for (std::size_t t = 0; t < positions.size(); ++t) {
    const auto slot = cached.slots[t] * cached.slot_stride;
    const auto at = slot + positions[t] * cached.row_stride;
    const auto row = static_cast<std::int64_t>(t);
    std::memcpy(layer.keys + at, keys.row(row), row_bytes);
    std::memcpy(layer.values + at, values.row(row), row_bytes);
    const std::int64_t num_keys = positions[t] + 1;
    rows.push_back({layer.keys + slot, layer.values + slot, num_keys,
                    cached.row_stride, first_key_of(num_keys, heads.window)});
  }
  return rows;
}

void rotate(const Tensor& x, std::int64_t num_heads,
            std::span<const std::int32_t> positions,
            const attention_heads& heads, kernels::rotation direction,
            kernels::thread_pool& pool) {
  if (heads.rotary == nullptr)
    return;
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
  auto order = packed ? order_of(*packed) : key_order{};
  const auto keys = gather(k, order), values = gather(v, order);
  const auto rows =
    packed
      ? rows_of(packed->offsets, order, heads.window, as_const_matrix(keys),
                as_const_matrix(values))
      : rows_of(std::get<cached_rows>(context.attention), context.positions,
                heads, as_const_matrix(k), as_const_matrix(v));

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
          offsets = std::move(offsets), order = std::move(order),
          positions = std::move(positions)](const Tensor& dout) {
           const auto seen_k = gather(k, order), seen_v = gather(v, order);
           auto dq = empty_matrix(q.size(0), q.size(1));
           auto dkeys = empty_matrix(seen_k.size(0), seen_k.size(1));
           auto dvalues = empty_matrix(seen_v.size(0), seen_v.size(1));
           kernels::attention_grad(
             as_const_matrix(dout), as_const_matrix(q), as_const_matrix(seen_k),
             as_const_matrix(seen_v), as_const_matrix(kept),
             log_sum_exp.const_data_ptr<float>(), offsets, order.offsets,
             shape_of(heads), heads.window, as_matrix(dq), as_matrix(dkeys),
             as_matrix(dvalues), pool);
           auto dk = gather_grad(dkeys, order, k.size(0));
           auto dv = gather_grad(dvalues, order, v.size(0));
           const auto inverse = kernels::rotation::inverse;
           rotate(dq, heads.num_heads, positions, heads, inverse, pool);
           rotate(dk, heads.num_kv_heads, positions, heads, inverse, pool);
           return variable_list{dq, dk, dv};
         });
  return out;
}

} // namespace troupe::runtime::model
