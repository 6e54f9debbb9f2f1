// SPDX-License-Identifier: Apache-2.0
//
// What the rollout engine needs of a model: hidden rows of tokens that follow
// what a slot has cached, and logits of such rows. decoder_model.hpp is the
// real one; tests have one that can be computed by hand.
#pragma once

#include "kernels/view.hpp"
#include "runtime/rollout/kv_cache.hpp"

#include <cstdint>
#include <span>

namespace troupe::runtime::rollout {

/// The rows of one forward pass, T in all. Rows of one slot are consecutive and
/// their positions rise by one, from the number of positions that the slot has
/// cached. A slot without rows is neither read nor written.
struct forward_rows {
  std::span<const std::int32_t> ids;       ///< [T]
  std::span<const std::int32_t> positions; ///< [T]
  std::span<const std::int32_t> slots;     ///< [T]
  std::span<const std::int32_t> wanted;    ///< rows whose hidden is returned
};

/// Numerics: a row of either result depends on the ids at and before its
/// position only, bit for bit (DESIGN section 9a).
/// Thread: the compute thread.
class rollout_model {
public:
  virtual ~rollout_model() = default;

  [[nodiscard]] virtual std::int64_t vocab_size() const = 0;
  [[nodiscard]] virtual std::int64_t hidden_size() const = 0;
  [[nodiscard]] virtual std::int64_t max_positions() const = 0;

  /// Writes keys and values of all rows into the cache, and the last hidden
  /// states of the wanted ones, after the final norm, into `hidden`.
  /// Shapes: hidden [rows.wanted.size(), D].
  virtual void forward(const forward_rows& rows, const kv_cache_view& cache,
                       kernels::matrix hidden) = 0;

  /// Shapes: hidden [S, D] -> logits [S, V].
  virtual void logits(kernels::const_matrix hidden, kernels::matrix logits) = 0;
};

} // namespace troupe::runtime::rollout
