// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"

#include "kernels/parallel.hpp"
#include "kernels/scalar_math.hpp"
#include "kernels/scratch.hpp"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cpp"
#include "hwy/foreach_target.h"

#include "kernels/attention_tile.hpp"
#include "kernels/dot_tiles.hpp"
#include "kernels/lane_functions.hpp"
#include "kernels/outer_tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

/// scores [n] becomes cap * tanh(scores * scale / cap).
void cap_scores(float* scores, std::int64_t n, float scale, float cap) {
  for (std::int64_t j = 0; j < n; j += 16) {
    const std::int64_t m = HWY_MIN(n - j, 16);
    const lanes s = mul(load_n(scores + j, m), set(scale / cap));
    store_n(mul(hyperbolic_tangent(s), set(cap)), scores + j, m);
  }
}

/// scores [n] becomes exp(scores * scale - max), with zeros to the next
/// multiple of 16. Returns the sum.
float soften(float* scores, std::int64_t n, float scale, float* maximum) {
  const float lowest = -std::numeric_limits<float>::infinity();
  lanes top = set(lowest);
  for (std::int64_t j = 0; j < n; j += 16) {
    const lanes s =
      mul(load_n(scores + j, HWY_MIN(n - j, 16), lowest), set(scale));
    store_n(s, scores + j, HWY_MIN(n - j, 16));
    top = max(s, top);
  }
  *maximum = largest(top);
  lanes total = set(0);
  for (std::int64_t j = 0; j < n; j += 16) {
    const lanes s = load_n(scores + j, HWY_MIN(n - j, 16), lowest);
    const lanes p = exponential(sub(s, set(*maximum)));
    store_n(p, scores + j, HWY_MIN(n - j, 16));
    total = add(total, p);
  }
  return sum(total);
}

/// All heads of one key/value head, for the rows of one tile.
void attend(const attention_tile& tile, const attention_shape& shape) {
  const std::int64_t width = shape.head_width;
  const std::int64_t group = shape.num_heads / shape.num_kv_heads;
  const std::int64_t num_rows = tile.num_rows * group;
  const attention_row& longest = tile.rows[tile.num_rows - 1];
  const std::int64_t stride = longest.stride;
  // Columns of scores count from the first key of the first row.
  const std::int64_t base = tile.rows[0].first_key;
  const std::int64_t at = base * stride + tile.kv_head * width;
  const float* keys = longest.keys + at;
  const float* values = longest.values + at;
  dot_work scores;
  scores.x = tile.q;
  scores.x_stride = width;
  scores.w = keys;
  scores.w_stride = stride;
  scores.size = width;
  scores.y = tile.scores;
  scores.y_stride = tile.scores_stride;
  dot_block(scores, num_rows, longest.num_keys - base, (width + 15) / 16 * 16);

  for (std::int64_t i = 0; i < num_rows; ++i) {
    float maximum = 0;
    const attention_row& row = tile.rows[i / group];
    const std::int64_t n = row.num_keys - row.first_key;
    float* own = tile.scores + i * tile.scores_stride + row.first_key - base;
    if (shape.softcap > 0)
      cap_scores(own, n, shape.scale, shape.softcap);
    tile.sums[i] =
      soften(own, n, shape.softcap > 0 ? 1 : shape.scale, &maximum);
    tile.maxima[i] = maximum;
  }
  // The keys that all rows see together, before and after them those of each
  // row alone, so that no value beyond a row's own keys takes part in it.
  const std::int64_t shared_end = tile.rows[0].num_keys - base;
  const std::int64_t shared_begin =
    HWY_MIN(longest.first_key - base, shared_end);
  outer_work sums;
  sums.b_stride = stride;
  sums.c_stride = width;
  sums.cols = width;
  const auto add_values = [&](std::int64_t row, std::int64_t count,
                              std::int64_t begin, std::int64_t end,
                              onto mode) HWY_ATTR {
    sums.a = {tile.scores + row * group * tile.scores_stride + begin,
              tile.scores_stride, 1};
    sums.b = values + begin * stride;
    sums.size = end - begin;
    sums.c = tile.out + row * group * width;
    sums.mode = mode;
    outer_block(sums, count * group);
  };
  const bool slides = longest.first_key > base;
  if (slides)
    for (std::int64_t r = 0; r < tile.num_rows; ++r)
      add_values(r, 1, HWY_MIN(tile.rows[r].first_key - base, shared_begin),
                 shared_begin, onto::overwrite);
  add_values(0, tile.num_rows, shared_begin, shared_end,
             slides ? onto::resume : onto::overwrite);
  for (std::int64_t r = 1; r < tile.num_rows; ++r)
    add_values(r, 1, HWY_MAX(tile.rows[r].first_key - base, shared_end),
               tile.rows[r].num_keys - base, onto::resume);
  for (std::int64_t i = 0; i < num_rows; ++i) {
    const lanes scale = set(1.0F / tile.sums[i]);
    float* out = tile.out + i * width;
    for (std::int64_t e = 0; e < width; e += 16) {
      const std::int64_t n = HWY_MIN(width - e, 16);
      store_n(mul(load_n(out + e, n), scale), out + e, n);
    }
  }
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

HWY_EXPORT(attend);

namespace {

constexpr std::int64_t max_rows = 8;

/// Rows from `first` on that share keys, with rising bounds.
std::int64_t count_shared(std::span<const attention_row> rows,
                          std::int64_t first, std::int64_t end) {
  const auto at = [&](std::int64_t t) {
    return rows[static_cast<std::size_t>(t)];
  };
  std::int64_t t = first + 1;
  while (t < end && t < first + max_rows && at(t).keys == at(first).keys
         && at(t).values == at(first).values && at(t).stride == at(first).stride
         && at(t).num_keys >= at(t - 1).num_keys
         && at(t).first_key >= at(t - 1).first_key)
    ++t;
  return t - first;
}

/// The heads [first_kv, end_kv) of rows [first, first + num_rows).
void attend_rows(const_matrix q, std::span<const attention_row> rows,
                 const attention_shape& shape, matrix out, float* log_sum_exp,
                 std::int64_t first, std::int64_t num_rows,
                 std::int64_t kv_head) {
  const std::int64_t width = shape.head_width;
  const std::int64_t group = shape.num_heads / shape.num_kv_heads;
  attention_tile tile;
  tile.rows = rows.data() + first;
  tile.num_rows = num_rows;
  tile.kv_head = kv_head;
  tile.scores_stride =
    (tile.rows[num_rows - 1].num_keys - tile.rows[0].first_key + 31) / 16 * 16;
  const std::int64_t size = num_rows * group;
  scratch memory(size * (2 * width + tile.scores_stride + 2));
  tile.scores = memory.take(size * tile.scores_stride);
  tile.q = memory.take(size * width);
  tile.out = memory.take(size * width);
  tile.sums = memory.take(size);
  tile.maxima = memory.take(size);
  for (std::int64_t r = 0; r < num_rows; ++r)
    std::copy_n(q.row(first + r) + kv_head * group * width, group * width,
                tile.q + r * group * width);
  HWY_DYNAMIC_DISPATCH(attend)(tile, shape);
  for (std::int64_t r = 0; r < num_rows; ++r) {
    std::copy_n(tile.out + r * group * width, group * width,
                out.row(first + r) + kv_head * group * width);
    if (log_sum_exp != nullptr)
      for (std::int64_t h = 0; h < group; ++h)
        log_sum_exp[(first + r) * shape.num_heads + kv_head * group + h] =
          static_cast<float>(double{tile.maxima[r * group + h]}
                             + log_of(double{tile.sums[r * group + h]}));
  }
}

} // namespace

void attention(const_matrix q, std::span<const attention_row> rows,
               const attention_shape& shape, matrix out, float* log_sum_exp,
               thread_pool& pool) {
  const auto num_rows = static_cast<std::int64_t>(rows.size());
  std::int64_t num_keys = 0;
  for (const auto& row : rows)
    num_keys += row.num_keys - row.first_key;
  // Thread i takes every num_threads-th unit: later rows see more keys.
  const std::int64_t num_slots = pool.num_threads();
  in_parallel(
    pool, num_slots, 1, num_keys * shape.num_heads * shape.head_width / 12,
    [&](std::int64_t begin, std::int64_t end) {
      std::int64_t unit = 0;
      for (std::int64_t t = 0; t < num_rows;) {
        const std::int64_t n = count_shared(rows, t, num_rows);
        for (std::int64_t g = 0; g < shape.num_kv_heads; ++g, ++unit) {
          const std::int64_t slot = unit % num_slots;
          if (slot >= begin && slot < end)
            attend_rows(q, rows, shape, out, log_sum_exp, t, n, g);
        }
        t += n;
      }
    });
}

} // namespace troupe::kernels
#endif
