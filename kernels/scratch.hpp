// SPDX-License-Identifier: Apache-2.0
//
// Memory for one call on one thread. It grows to the largest call and is kept,
// so that no steady-state call allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace troupe::kernels {

/// One at a time on each thread.
class scratch {
public:
  /// Room for `size` floats and for eight alignments.
  explicit scratch(std::int64_t size) {
    struct free_aligned {
      void operator()(float* p) const {
        ::operator delete (p, std::align_val_t{64});
      }
    };
    thread_local std::unique_ptr<float, free_aligned> memory;
    thread_local std::int64_t capacity = 0;
    if (size + 8 * 16 > capacity) {
      memory.reset();
      capacity = size + 8 * 16;
      memory.reset(static_cast<float*>(
        ::operator new (static_cast<std::size_t>(capacity) * sizeof(float),
                        std::align_val_t{64})));
    }
    next_ = memory.get();
  }

  /// Uninitialised, at a multiple of 64 bytes.
  float* take(std::int64_t size) {
    float* p = next_;
    next_ += (size + 15) / 16 * 16;
    return p;
  }

private:
  float* next_ = nullptr;
};

} // namespace troupe::kernels
