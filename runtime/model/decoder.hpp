// SPDX-License-Identifier: Apache-2.0
//
// The decoder of all families, built of modules from its config: embedding,
// layers of {norm, attention, norm, feed-forward}, a last norm, and a head
// that may be the embedding. Parameters have the names of Llama's files, and
// those of Gemma for what Llama lacks.
// Example:
//   kernels::thread_pool pool{2};
//   auto hidden = model->hidden(ids, {pool, positions,
//                                     packed_sequences{offsets}});
#pragma once

#include "runtime/model/decoder_config.hpp"
#include "runtime/model/module.hpp"
#include "runtime/model/module_registry.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

namespace troupe::runtime::model {

class decoder : public module {
public:
  decoder(const decoder_config& config, shard::parameter_factory& factory,
          const module_registry& registry);

  [[nodiscard]] const decoder_config& config() const { return config_; }

  /// Returns the states after the last norm.
  /// Shapes: ids [T] -> [T, D]. Dtype: float32.
  /// Errors: invalid_request for an id or position out of range, or sizes
  /// that do not fit each other.
  /// Numerics: a row's bits depend on its sequence up to itself only, not on
  /// the other rows, on cache or packing, or on gradients being enabled.
  torch::Tensor hidden(std::span<const std::int32_t> ids,
                       const forward_context& context);

  /// Returns the head's weights, the embedding's if they are tied:
  /// logits = hidden x weights^T, then capped if the config says so.
  /// Shapes: [V, D].
  [[nodiscard]] torch::Tensor lm_head_weight() const;

  /// Logits of int32 ids [T]: [T, V]. For small T; losses take hidden states
  /// and go by chunks.
  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override;

private:
  decoder_config config_;
  child_index model_;
  std::optional<child_index> head_; ///< none: tied
};

/// Makes a decoder from nothing, its values from `seed` (shard::fresh_source).
std::shared_ptr<decoder> make_decoder(const decoder_config& config,
                                      std::uint64_t seed,
                                      const module_registry& registry,
                                      shard::rank_group group = {});

} // namespace troupe::runtime::model
