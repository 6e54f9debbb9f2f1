// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"
#include "kernels/attention_grad_unit.hpp"
#include "kernels/parallel.hpp"
#include "kernels/scratch.hpp"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_grad.cpp"
#include "hwy/foreach_target.h"

#include "kernels/dot_tiles.hpp"
#include "kernels/lane_functions.hpp"
#include "kernels/outer_tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

/// What slope_row needs of a row and head.
struct row_sums {
  float log_sum_exp, delta;
};

/// p and dp of one row and head become the probabilities and the gradients of
/// the scores as they were before scale and cap.
void slope_row(float* p, float* dp, std::int64_t n,
               const attention_shape& shape, row_sums of) {
  const lanes scale = set(shape.scale), lse = set(of.log_sum_exp),
              delta = set(of.delta);
  for (std::int64_t j = 0; j < n; j += 16) {
    const std::int64_t m = HWY_MIN(n - j, 16);
    const lanes prob = exponential(sub(mul(load_n(p + j, m), scale), lse));
    store_n(prob, p + j, m);
    store_n(mul(mul(prob, sub(load_n(dp + j, m), delta)), scale), dp + j, m);
  }
}

// d c tanh(s / c) / d s = 1 - tanh(s / c)^2.
void capped_slope_row(float* p, float* dp, std::int64_t n,
                      const attention_shape& shape, row_sums of) {
  const lanes scale = set(shape.scale), cap = set(shape.softcap),
              to_cap = set(shape.scale / shape.softcap);
  for (std::int64_t j = 0; j < n; j += 16) {
    const std::int64_t m = HWY_MIN(n - j, 16);
    const lanes t = hyperbolic_tangent(mul(load_n(p + j, m), to_cap));
    const lanes prob = exponential(sub(mul(t, cap), set(of.log_sum_exp)));
    store_n(prob, p + j, m);
    const lanes slope = mul(fnma(t, t, set(1)), scale);
    store_n(mul(mul(prob, sub(load_n(dp + j, m), set(of.delta))), slope),
            dp + j, m);
  }
}

void clear(float* p, float* dp, std::int64_t begin, std::int64_t end) {
  for (std::int64_t j = begin; j < end; ++j)
    p[j] = dp[j] = 0;
}

float dot(const float* a, const float* b, std::int64_t size) {
  lanes total = set(0);
  for (std::int64_t e = 0; e < size; e += 16) {
    const std::int64_t n = HWY_MIN(size - e, 16);
    total = fma(load_n(a + e, n), load_n(b + e, n), total);
  }
  return sum(total);
}

/// Rows in rising order, and in each the heads of the group, for one sequence
/// and one key/value head.
void sequence_grad(const attention_grad_unit& u, const attention_shape& shape) {
  const std::int64_t width = shape.head_width;
  const std::int64_t group = shape.num_heads / shape.num_kv_heads;
  const std::int64_t first_head = u.kv_head * group;
  const std::int64_t column = u.kv_head * width;
  for (std::int64_t j = u.key_begin; j < u.key_end; ++j)
    for (std::int64_t e = column; e < column + width; ++e)
      u.dk.row(j)[e] = u.dv.row(j)[e] = 0;

  for (std::int64_t t = u.begin; t < u.end; t += u.max_rows) {
    const std::int64_t num_rows = HWY_MIN(u.end - t, u.max_rows);
    const std::int64_t size = num_rows * group;
    // Columns of p and dp count from the first key of the first row.
    const std::int64_t first_key = u.first_key_of(t);
    const std::int64_t num_keys = u.num_keys_of(t + num_rows - 1) - first_key;
    const float* k = u.k.row(u.key_begin + first_key) + column;
    const float* v = u.v.row(u.key_begin + first_key) + column;
    float* dk = u.dk.row(u.key_begin + first_key) + column;
    float* dv = u.dv.row(u.key_begin + first_key) + column;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t from = (first_head + i % group) * width;
      std::memcpy(u.q_rows + i * width, u.q.row(t + i / group) + from,
                  static_cast<std::size_t>(width) * sizeof(float));
      std::memcpy(u.dout_rows + i * width, u.dout.row(t + i / group) + from,
                  static_cast<std::size_t>(width) * sizeof(float));
    }
    dot_work scores;
    scores.x = u.q_rows;
    scores.x_stride = width;
    scores.w = k;
    scores.w_stride = u.k.stride;
    scores.size = width;
    scores.y = u.p;
    scores.y_stride = u.p_stride;
    dot_block(scores, size, num_keys, (width + 15) / 16 * 16);
    scores.x = u.dout_rows;
    scores.w = v;
    scores.w_stride = u.v.stride;
    scores.y = u.dp;
    dot_block(scores, size, num_keys, (width + 15) / 16 * 16);
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t row = t + i / group;
      const std::int64_t head = first_head + i % group;
      const float delta =
        dot(u.dout_rows + i * width, u.out.row(row) + head * width, width);
      const row_sums sums{u.log_sum_exp[row * shape.num_heads + head], delta};
      const std::int64_t begin = u.first_key_of(row) - first_key;
      const std::int64_t end = u.num_keys_of(row) - first_key;
      float* p = u.p + i * u.p_stride;
      float* dp = u.dp + i * u.p_stride;
      clear(p, dp, 0, begin);
      if (shape.softcap > 0)
        capped_slope_row(p + begin, dp + begin, end - begin, shape, sums);
      else
        slope_row(p + begin, dp + begin, end - begin, shape, sums);
      clear(p, dp, end, num_keys);
    }
    outer_work sums;
    sums.a = {u.dp, u.p_stride, 1};
    sums.b = k;
    sums.b_stride = u.k.stride;
    sums.size = num_keys;
    sums.c = u.dq_rows;
    sums.c_stride = width;
    sums.cols = width;
    outer_block(sums, size);
    for (std::int64_t i = 0; i < size; ++i)
      std::memcpy(u.dq.row(t + i / group) + (first_head + i % group) * width,
                  u.dq_rows + i * width,
                  static_cast<std::size_t>(width) * sizeof(float));
    sums.a = {u.dp, 1, u.p_stride};
    sums.b = u.q_rows;
    sums.b_stride = width;
    sums.size = size;
    sums.c = dk;
    sums.c_stride = u.dk.stride;
    sums.mode = onto::resume;
    outer_block(sums, num_keys);
    sums.a.data = u.p;
    sums.b = u.dout_rows;
    sums.c = dv;
    sums.c_stride = u.dv.stride;
    outer_block(sums, num_keys);
  }
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

HWY_EXPORT(sequence_grad);

namespace {

void unit_grad(attention_grad_unit& u, const attention_shape& shape) {
  const std::int64_t size = u.max_rows * (shape.num_heads / shape.num_kv_heads);
  u.p_stride = (u.num_keys() + 15) / 16 * 16;
  scratch memory(size * (2 * u.p_stride + 3 * shape.head_width));
  u.p = memory.take(size * u.p_stride);
  u.dp = memory.take(size * u.p_stride);
  u.q_rows = memory.take(size * shape.head_width);
  u.dout_rows = memory.take(size * shape.head_width);
  u.dq_rows = memory.take(size * shape.head_width);
  HWY_DYNAMIC_DISPATCH(sequence_grad)(u, shape);
}

} // namespace

void attention_grad(const_matrix dout, const_matrix q, const_matrix k,
                    const_matrix v, const_matrix out, const float* log_sum_exp,
                    std::span<const std::int32_t> offsets,
                    std::span<const std::int32_t> key_offsets,
                    const attention_shape& shape, std::int64_t window,
                    matrix dq, matrix dk, matrix dv, thread_pool& pool) {
  std::int64_t num_pairs = 0;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::int64_t n = offsets[s + 1] - offsets[s];
    num_pairs += n * (key_offsets[s + 1] - key_offsets[s]) - n * n / 2;
  }
  const std::int64_t num_slots = pool.num_threads();
  in_parallel(
    pool, num_slots, 1, num_pairs * shape.num_heads * shape.head_width / 5,
    [&](std::int64_t begin, std::int64_t end) {
      std::int64_t index = 0;
      for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        for (std::int64_t g = 0; g < shape.num_kv_heads; ++g, ++index) {
          const std::int64_t slot = index % num_slots;
          if (slot < begin || slot >= end)
            continue;
          attention_grad_unit unit{.dout = dout,
                                   .q = q,
                                   .k = k,
                                   .v = v,
                                   .out = out,
                                   .log_sum_exp = log_sum_exp,
                                   .begin = offsets[s],
                                   .end = offsets[s + 1],
                                   .key_begin = key_offsets[s],
                                   .key_end = key_offsets[s + 1],
                                   .kv_head = g,
                                   .window = window,
                                   .dq = dq,
                                   .dk = dk,
                                   .dv = dv};
          unit_grad(unit, shape);
        }
      }
    });
}

} // namespace troupe::kernels
#endif
