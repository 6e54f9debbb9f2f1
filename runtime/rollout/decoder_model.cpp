// SPDX-License-Identifier: Apache-2.0
#include "runtime/rollout/decoder_model.hpp"

#include "kernels/linear.hpp"
#include "kernels/soft_cap.hpp"
#include "protocols/failure.hpp"
#include "runtime/model/tensor_view.hpp"

#include <ATen/core/grad_mode.h>

#include <cstring>
#include <string>
#include <utility>

namespace troupe::runtime::rollout {

decoder_model::decoder_model(std::shared_ptr<model::decoder> decoder,
                             kernels::thread_pool& pool)
  : decoder_(std::move(decoder)), pool_(pool) {}

std::int64_t decoder_model::vocab_size() const {
  return decoder_->config().vocab_size;
}

std::int64_t decoder_model::hidden_size() const {
  return decoder_->config().hidden_size;
}

std::int64_t decoder_model::max_positions() const {
  return decoder_->config().max_positions;
}

kv_cache_layout
decoder_model::cache_layout(std::int64_t num_slots,
                            std::int64_t slot_capacity_tokens) const {
  const auto& config = decoder_->config();
  return {config.num_layers, num_slots, slot_capacity_tokens,
          config.num_kv_heads * config.head_width};
}

void decoder_model::forward(const forward_rows& rows,
                            const kv_cache_view& cache,
                            kernels::matrix hidden) {
  const auto& layout = cache.layout;
  if (layout != cache_layout(layout.num_slots, layout.slot_capacity_tokens))
    throw protocols::failure(
      protocols::errc::invalid_request,
      "KV cache: " + std::to_string(layout.num_layers) + " layers of rows of "
        + std::to_string(layout.row_width) + "; the model has "
        + std::to_string(decoder_->config().num_layers) + " of "
        + std::to_string(cache_layout(1, 1).row_width));
  layers_.clear();
  for (std::int64_t l = 0; l < layout.num_layers; ++l)
    layers_.push_back({cache.keys(l, 0), cache.values(l, 0)});
  const at::NoGradGuard no_gradients;
  const auto states = decoder_->hidden(
    rows.ids,
    {pool_, rows.positions,
     model::cached_rows{rows.slots, layers_,
                        layout.slot_capacity_tokens * layout.row_width,
                        layout.row_width}});
  const auto source = model::as_const_matrix(states);
  for (std::size_t i = 0; i < rows.wanted.size(); ++i)
    std::memcpy(hidden.row(static_cast<std::int64_t>(i)),
                source.row(rows.wanted[i]),
                static_cast<std::size_t>(source.cols) * sizeof(float));
}

void decoder_model::logits(kernels::const_matrix hidden,
                           kernels::matrix logits) {
  const at::NoGradGuard no_gradients;
  kernels::linear(hidden, model::as_const_matrix(decoder_->lm_head_weight()),
                  nullptr, logits, pool_);
  if (const auto cap = decoder_->config().logit_softcap; cap > 0)
    kernels::soft_cap(logits, static_cast<float>(cap), pool_);
}

} // namespace troupe::runtime::rollout
