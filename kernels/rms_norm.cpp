// SPDX-License-Identifier: Apache-2.0
#include "kernels/rms_norm.hpp"

#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rms_norm.cpp"
#include "hwy/foreach_target.h"

#include "kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

void forward_row(const float* x, const float* weight, float eps,
                 std::int64_t width, float* y, float* inv_rms) {
  lanes squares = set(0);
  std::int64_t d = 0;
  for (; d + 16 <= width; d += 16) {
    const lanes v = load(x + d);
    squares = fma(v, v, squares);
  }
  const lanes tail = load_n(x + d, width - d);
  squares = fma(tail, tail, squares);
  const float mean = sum(squares) / static_cast<float>(width);
  const float scale = 1.0F / std::sqrt(mean + eps);
  const lanes scales = set(scale);
  for (d = 0; d + 16 <= width; d += 16)
    store(mul(mul(load(x + d), scales), load(weight + d)), y + d);
  store_n(mul(mul(tail, scales), load_n(weight + d, width - d)), y + d,
          width - d);
  if (inv_rms != nullptr)
    *inv_rms = scale;
}

// dx = s dy w - x s^3 / D sum(dy w x), with s = inv_rms.
void backward_row(const float* dy, const float* x, const float* weight,
                  float inv_rms, std::int64_t width, float* dx) {
  lanes total = set(0);
  for (std::int64_t d = 0; d < width; d += 16) {
    const std::int64_t n = HWY_MIN(width - d, 16);
    total = fma(mul(load_n(dy + d, n), load_n(weight + d, n)), load_n(x + d, n),
                total);
  }
  const lanes s = set(inv_rms);
  const lanes c =
    set(sum(total) / static_cast<float>(width) * inv_rms * inv_rms * inv_rms);
  for (std::int64_t d = 0; d < width; d += 16) {
    const std::int64_t n = HWY_MIN(width - d, 16);
    const lanes g = mul(mul(load_n(dy + d, n), load_n(weight + d, n)), s);
    store_n(fnma(load_n(x + d, n), c, g), dx + d, n);
  }
}

void forward_rows(const_matrix x, const float* weight, float eps, matrix y,
                  float* inv_rms, std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t)
    forward_row(x.row(t), weight, eps, x.cols, y.row(t),
                inv_rms == nullptr ? nullptr : inv_rms + t);
}

void backward_rows(const_matrix dy, const_matrix x, const float* weight,
                   const float* inv_rms, matrix dx, std::int64_t begin,
                   std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t)
    backward_row(dy.row(t), x.row(t), weight, inv_rms[t], x.cols, dx.row(t));
}

/// Columns [begin, end) of dweight.
void weight_columns(const_matrix dy, const_matrix x, const float* inv_rms,
                    float* dweight, std::int64_t begin, std::int64_t end) {
  for (std::int64_t d = begin; d < end; d += 16) {
    const std::int64_t n = HWY_MIN(end - d, 16);
    lanes total = load_n(dweight + d, n);
    for (std::int64_t t = 0; t < x.rows; ++t)
      total = fma(load_n(dy.row(t) + d, n),
                  mul(load_n(x.row(t) + d, n), set(inv_rms[t])), total);
    store_n(total, dweight + d, n);
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

void rms_norm(const_matrix x, const float* weight, float eps, matrix y,
              float* inv_rms, thread_pool& pool) {
  in_parallel(pool, x.rows, 1, x.rows * x.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(forward_rows)
                (x, weight, eps, y, inv_rms, begin, end);
              });
}

void rms_norm_grad(const_matrix dy, const_matrix x, const float* weight,
                   const float* inv_rms, matrix dx, float* dweight,
                   thread_pool& pool) {
  in_parallel(pool, x.cols, 16, x.rows * x.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(weight_columns)
                (dy, x, inv_rms, dweight, begin, end);
              });
  in_parallel(pool, x.rows, 1, x.rows * x.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(backward_rows)
                (dy, x, weight, inv_rms, dx, begin, end);
              });
}

} // namespace troupe::kernels
#endif
