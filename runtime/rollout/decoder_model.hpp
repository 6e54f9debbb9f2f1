// SPDX-License-Identifier: Apache-2.0
//
// A decoder as the rollout engine sees it.
#pragma once

#include "kernels/thread_pool.hpp"
#include "runtime/model/decoder.hpp"
#include "runtime/rollout/rollout_model.hpp"

#include <memory>
#include <vector>

namespace troupe::runtime::rollout {

/// Reads the decoder's parameters as they are at each call: an update in place
/// needs no word to this class (but one to the engine, whose KV is old then).
class decoder_model : public rollout_model {
public:
  /// The pool outlives the object.
  decoder_model(std::shared_ptr<model::decoder> decoder,
                kernels::thread_pool& pool);

  [[nodiscard]] std::int64_t vocab_size() const override;
  [[nodiscard]] std::int64_t hidden_size() const override;
  [[nodiscard]] std::int64_t max_positions() const override;

  /// Errors: invalid_request if the cache's layout is not this decoder's.
  void forward(const forward_rows& rows, const kv_cache_view& cache,
               kernels::matrix hidden) override;
  void logits(kernels::const_matrix hidden, kernels::matrix logits) override;

  /// Returns the layout of a cache for this decoder.
  [[nodiscard]] kv_cache_layout
  cache_layout(std::int64_t num_slots, std::int64_t slot_capacity_tokens) const;

private:
  std::shared_ptr<model::decoder> decoder_;
  kernels::thread_pool& pool_;
  std::vector<model::layer_cache> layers_;
};

} // namespace troupe::runtime::rollout
