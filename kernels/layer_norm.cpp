// SPDX-License-Identifier: Apache-2.0
#include "kernels/layer_norm.hpp"

#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm.cpp"
#include "hwy/foreach_target.h"

#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

void forward_row(const float* x, const float* weight, const float* bias,
                 float eps, std::int64_t width, float* y,
                 row_moments* moments) {
  lanes total = set(0);
  for (std::int64_t d = 0; d < width; d += 16)
    total = add(total, load_n(x + d, HWY_MIN(width - d, 16)));
  const float mean = sum(total) / static_cast<float>(width);
  lanes squares = set(0);
  for (std::int64_t d = 0; d < width; d += 16) {
    const lanes v = sub(load_n(x + d, HWY_MIN(width - d, 16), mean), set(mean));
    squares = fma(v, v, squares);
  }
  const float variance = sum(squares) / static_cast<float>(width);
  const float scale = 1.0F / std::sqrt(variance + eps);
  for (std::int64_t d = 0; d < width; d += 16) {
    const std::int64_t n = HWY_MIN(width - d, 16);
    const lanes v = mul(sub(load_n(x + d, n), set(mean)), set(scale));
    store_n(fma(v, load_n(weight + d, n), load_n(bias + d, n)), y + d, n);
  }
  if (moments != nullptr)
    *moments = {mean, scale};
}

// With z = (x - mean) s and g = dy w: dx = s (g - mean(g) - z mean(g z)).
void backward_row(const float* dy, const float* x, const float* weight,
                  row_moments moments, std::int64_t width, float* dx) {
  const lanes mean = set(moments.mean), scale = set(moments.inv_deviation);
  lanes total = set(0), product = set(0);
  for (std::int64_t d = 0; d < width; d += 16) {
    const std::int64_t n = HWY_MIN(width - d, 16);
    const lanes g = mul(load_n(dy + d, n), load_n(weight + d, n));
    total = add(total, g);
    product = fma(g, mul(sub(load_n(x + d, n), mean), scale), product);
  }
  const lanes mean_g = set(sum(total) / static_cast<float>(width));
  const lanes mean_gz = set(sum(product) / static_cast<float>(width));
  for (std::int64_t d = 0; d < width; d += 16) {
    const std::int64_t n = HWY_MIN(width - d, 16);
    const lanes g = mul(load_n(dy + d, n), load_n(weight + d, n));
    const lanes z = mul(sub(load_n(x + d, n), mean), scale);
    store_n(mul(fnma(z, mean_gz, sub(g, mean_g)), scale), dx + d, n);
  }
}

void forward_rows(const_matrix x, const float* weight, const float* bias,
                  float eps, matrix y, row_moments* moments, std::int64_t begin,
                  std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t)
    forward_row(x.row(t), weight, bias, eps, x.cols, y.row(t),
                moments == nullptr ? nullptr : moments + t);
}

void backward_rows(const_matrix dy, const_matrix x, const float* weight,
                   const row_moments* moments, matrix dx, std::int64_t begin,
                   std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t)
    backward_row(dy.row(t), x.row(t), weight, moments[t], x.cols, dx.row(t));
}

/// Columns [begin, end) of dweight and dbias.
void weight_columns(const_matrix dy, const_matrix x, const row_moments* moments,
                    float* dweight, float* dbias, std::int64_t begin,
                    std::int64_t end) {
  for (std::int64_t d = begin; d < end; d += 16) {
    const std::int64_t n = HWY_MIN(end - d, 16);
    lanes of_weight = load_n(dweight + d, n), of_bias = load_n(dbias + d, n);
    for (std::int64_t t = 0; t < x.rows; ++t) {
      const lanes g = load_n(dy.row(t) + d, n);
      const lanes z = mul(sub(load_n(x.row(t) + d, n), set(moments[t].mean)),
                          set(moments[t].inv_deviation));
      of_weight = fma(g, z, of_weight);
      of_bias = add(of_bias, g);
    }
    store_n(of_weight, dweight + d, n);
    store_n(of_bias, dbias + d, n);
  }
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

HWY_EXPORT(forward_rows);
HWY_EXPORT(backward_rows);
HWY_EXPORT(weight_columns);

void layer_norm(const_matrix x, const float* weight, const float* bias,
                float eps, matrix y, row_moments* moments, thread_pool& pool) {
  in_parallel(pool, x.rows, 1, x.rows * x.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(forward_rows)
                (x, weight, bias, eps, y, moments, begin, end);
              });
}

void layer_norm_grad(const_matrix dy, const_matrix x, const float* weight,
                     const row_moments* moments, matrix dx, float* dweight,
                     float* dbias, thread_pool& pool) {
  in_parallel(pool, x.cols, 16, x.rows * x.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(weight_columns)
                (dy, x, moments, dweight, dbias, begin, end);
              });
  in_parallel(pool, x.rows, 1, x.rows * x.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(backward_rows)
                (dy, x, weight, moments, dx, begin, end);
              });
}

} // namespace troupe::kernels
#endif
