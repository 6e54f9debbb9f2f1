// SPDX-License-Identifier: Apache-2.0
//
// What the kernel tests share: numbers to work on, comparison to a reference
// in double, and each instruction set in turn.
#pragma once

#include "kernels/instruction_set.hpp"
#include "kernels/random.hpp"
#include "kernels/view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace troupe::kernels::testing {

/// Memory at multiples of 64 bytes, as tensors have it: elsewhere most loads of
/// AVX-512 cross two cache lines.
template <class T>
struct aligned_allocator {
  using value_type = T;
  T* allocate(std::size_t n) {
    return static_cast<T*>(
      ::operator new (n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) {
    ::operator delete (p, std::align_val_t{64});
  }
  bool operator==(const aligned_allocator&) const { return true; }
};

using floats = std::vector<float, aligned_allocator<float>>;
using doubles = std::vector<double>;

/// n numbers in [-scale, scale).
inline floats noise(std::int64_t n, std::uint64_t seed, float scale = 1) {
  floats y(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = scale
           * static_cast<float>(
             2
               * uniform(
                 {.job_seed = seed, .position = static_cast<std::uint32_t>(i)})
             - 1);
  return y;
}

inline matrix view(floats& x, std::int64_t cols) {
  return {x.data(), static_cast<std::int64_t>(x.size()) / cols, cols};
}
inline const_matrix view(const floats& x, std::int64_t cols) {
  return {x.data(), static_cast<std::int64_t>(x.size()) / cols, cols};
}

inline doubles widen(const floats& x) {
  return {x.begin(), x.end()};
}

/// The largest |a - b| / (1 + |b|); NaN counts as infinite.
inline double error_of(const floats& a, const doubles& b) {
  double worst = a.size() == b.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double e = std::abs(double{a[i]} - b[i]) / (1 + std::abs(b[i]));
    worst = e <= worst ? worst : (std::isnan(e) ? HUGE_VAL : e);
  }
  return worst;
}

/// True if both hold the same bits.
inline bool is_same(const floats& a, const floats& b) {
  return a.size() == b.size()
         && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// d f / d x by central differences, x being a variable that f reads.
template <class Function>
doubles slopes(doubles& x, const Function& f) {
  doubles y(x.size());
  constexpr double step = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double kept = x[i];
    x[i] = kept + step;
    const double above = f();
    x[i] = kept - step;
    y[i] = (above - f()) / (2 * step);
    x[i] = kept;
  }
  return y;
}

/// Returns whether f(), a vector of floats, has the same bits on every
/// instruction set.
template <class Function>
bool is_same_everywhere(const Function& f) {
  bool is_equal = true;
  const floats expected = f();
  for (const auto set : instruction_sets()) {
    use_instruction_set(set);
    is_equal = is_equal && is_same(f(), expected);
  }
  use_instruction_set(std::nullopt);
  return is_equal;
}

} // namespace troupe::kernels::testing
