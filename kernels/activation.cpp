// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation.hpp"

#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cpp"
#include "hwy/foreach_target.h"

#include "kernels/lane_functions.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE lanes sigmoid(lanes x) {
  const lanes one = set(1);
  return div(one, add(one, exponential(sub(set(0), x))));
}

/// f(x) is x times a share, and f's slope follows from both.
struct silu {
  static HWY_INLINE lanes share(lanes x) { return sigmoid(x); }
  // s (1 + x (1 - s)).
  static HWY_INLINE lanes slope(lanes x, lanes s) {
    const lanes one = set(1);
    return mul(s, fma(x, sub(one, s), one));
  }
};

struct gelu {
  static HWY_INLINE lanes share(lanes x) {
    return fma(error_function(mul(x, set(0.70710678F))), set(0.5F), set(0.5F));
  }
  // s + x exp(-x^2 / 2) / sqrt(2 pi).
  static HWY_INLINE lanes slope(lanes x, lanes s) {
    const lanes density = exponential(mul(mul(x, x), set(-0.5F)));
    return fma(mul(x, set(0.39894228F)), density, s);
  }
};

// s = (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3).
struct gelu_tanh {
  static HWY_INLINE lanes share(lanes x) {
    const lanes cubic = fma(mul(x, x), set(0.044715F), set(1));
    const lanes u = mul(mul(x, set(0.79788456F)), cubic);
    return fma(hyperbolic_tangent(u), set(0.5F), set(0.5F));
  }
  // s + 2 x s (1 - s) u', as (1 - tanh^2) / 2 is 2 s (1 - s).
  static HWY_INLINE lanes slope(lanes x, lanes s) {
    const lanes inner =
      mul(fma(mul(x, x), set(3 * 0.044715F), set(1)), set(0.79788456F));
    const lanes bend = mul(mul(s, sub(set(1), s)), set(2));
    return fma(mul(x, bend), inner, s);
  }
};

struct relu {
  static HWY_INLINE lanes share(lanes x) {
    return if_greater(x, set(0), set(1), set(0));
  }
  static HWY_INLINE lanes slope(lanes, lanes s) { return s; }
};

/// Calls g with a value of f's type.
template <class G>
HWY_INLINE void with(activation f, const G& g) {
  switch (f) {
  case activation::silu: g(silu()); break;
  case activation::gelu: g(gelu()); break;
  case activation::gelu_tanh: g(gelu_tanh()); break;
  case activation::relu: g(relu()); break;
  }
}

template <class F>
void forward_rows_of(const_matrix gate, const_matrix up, matrix y,
                     std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t) {
    for (std::int64_t f = 0; f < y.cols; f += 16) {
      const std::int64_t n = HWY_MIN(y.cols - f, 16);
      const lanes g = load_n(gate.row(t) + f, n);
      lanes z = mul(g, F::share(g));
      if (up.data != nullptr)
        z = mul(z, load_n(up.row(t) + f, n));
      store_n(z, y.row(t) + f, n);
    }
  }
}

template <class F>
void backward_rows_of(const_matrix dy, const_matrix gate, const_matrix up,
                      matrix dgate, matrix dup, std::int64_t begin,
                      std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t) {
    for (std::int64_t f = 0; f < dy.cols; f += 16) {
      const std::int64_t n = HWY_MIN(dy.cols - f, 16);
      lanes d = load_n(dy.row(t) + f, n);
      const lanes g = load_n(gate.row(t) + f, n);
      const lanes s = F::share(g);
      if (up.data != nullptr) {
        store_n(mul(d, mul(g, s)), dup.row(t) + f, n);
        d = mul(d, load_n(up.row(t) + f, n));
      }
      store_n(mul(d, F::slope(g, s)), dgate.row(t) + f, n);
    }
  }
}

/// `up` may be empty: then there is no gate, and no dup.
void forward_rows(const_matrix gate, const_matrix up, activation f, matrix y,
                  std::int64_t begin, std::int64_t end) {
  with(f, [&](auto kind) HWY_ATTR {
    forward_rows_of<decltype(kind)>(gate, up, y, begin, end);
  });
}

void backward_rows(const_matrix dy, const_matrix gate, const_matrix up,
                   activation f, matrix dgate, matrix dup, std::int64_t begin,
                   std::int64_t end) {
  with(f, [&](auto kind) HWY_ATTR {
    backward_rows_of<decltype(kind)>(dy, gate, up, dgate, dup, begin, end);
  });
}

} // namespace
} // namespace troupe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

HWY_EXPORT(forward_rows);
HWY_EXPORT(backward_rows);

void gated(const_matrix gate, const_matrix up, activation f, matrix y,
           thread_pool& pool) {
  in_parallel(pool, y.rows, 1, y.rows * y.cols / 2,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(forward_rows)(gate, up, f, y, begin, end);
              });
}

void gated_grad(const_matrix dy, const_matrix gate, const_matrix up,
                activation f, matrix dgate, matrix dup, thread_pool& pool) {
  in_parallel(pool, dy.rows, 1, dy.rows * dy.cols,
              [&](std::int64_t begin, std::int64_t end) {
                HWY_DYNAMIC_DISPATCH(backward_rows)
                (dy, gate, up, f, dgate, dup, begin, end);
              });
}

void activate(const_matrix x, activation f, matrix y, thread_pool& pool) {
  gated(x, {}, f, y, pool);
}

void activate_grad(const_matrix dy, const_matrix x, activation f, matrix dx,
                   thread_pool& pool) {
  gated_grad(dy, x, {}, f, dx, {}, pool);
}

} // namespace troupe::kernels
#endif
