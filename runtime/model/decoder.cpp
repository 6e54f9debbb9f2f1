// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/decoder.hpp"

#include "protocols/failure.hpp"
#include "runtime/model/decoder_layer.hpp"
#include "runtime/model/layers.hpp"
#include "runtime/model/operations.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::runtime::model {

namespace {

using protocols::errc;
using protocols::failure;

/// Null if no layer has them.
std::shared_ptr<const kernels::rotary_table>
rotary_of(const decoder_config& config, layer_positions which) {
  for (std::int64_t i = 0; i < config.num_layers; ++i)
    if (config.layer(i).positions == which)
      return std::make_shared<const kernels::rotary_table>(make_rotary_table(
        which == layer_positions::rope ? config.rope : config.local_rope,
        config.head_width, config.max_positions));
  return nullptr;
}

/// All but the rotary table.
attention_heads heads_of(const decoder_config& config, std::int64_t index) {
  const auto layer = config.layer(index);
  const double scale =
    config.score_scale > 0
      ? config.score_scale
      : 1 / std::sqrt(static_cast<double>(config.head_width));
  return {.num_heads = config.num_heads,
          .num_kv_heads = config.num_kv_heads,
          .head_width = config.head_width,
          .layer_index = index,
          .rotary = nullptr,
          .window = layer.window,
          .scale = scale * layer.score_factor,
          .softcap = config.score_softcap};
}

/// What files call "model": all but the head.
class decoder_body : public module {
public:
  explicit decoder_body(const module_arguments& arguments)
    : module("decoder_body") {
    const auto& config = arguments.config;
    embedding_ = add_child("embed_tokens", std::make_shared<embedding_layer>(
                                             below(arguments, "embed_tokens")));
    if (config.learned_positions)
      positions_ = add_child(
        "embed_positions",
        std::make_shared<position_layer>(below(arguments, "embed_positions")));
    const auto rotary = rotary_of(config, layer_positions::rope);
    const auto local_rotary = rotary_of(config, layer_positions::local_rope);
    auto layers = std::make_shared<module_list>();
    for (std::int64_t i = 0; i < config.num_layers; ++i) {
      auto heads = heads_of(config, i);
      if (config.layer(i).positions != layer_positions::none)
        heads.rotary = config.layer(i).positions == layer_positions::rope
                         ? rotary
                         : local_rotary;
      layers->append(std::make_shared<decoder_layer>(
        below(arguments, "layers." + std::to_string(i)), heads));
    }
    layers_ = add_child("layers", std::move(layers));
    norm_ = add_child("norm", std::make_shared<norm_layer>(
                                below(arguments, "norm"), config.hidden_size));
  }

  torch::Tensor forward(const torch::Tensor& x,
                        const forward_context& context) override {
    auto states = child(embedding_).forward(x, context);
    if (positions_)
      states = child(*positions_).forward(states, context);
    return child(norm_).forward(child(layers_).forward(states, context),
                                context);
  }

  [[nodiscard]] torch::Tensor embedding_weight() const {
    return child(embedding_).parameters().front().value->tensor();
  }

private:
  child_index embedding_, layers_, norm_;
  std::optional<child_index> positions_; ///< learned ones
};

void require_size(const char* what, std::size_t found, std::size_t wanted) {
  if (found != wanted)
    throw failure{errc::invalid_request, std::string{"a forward pass got "}
                                           + std::to_string(found) + " " + what
                                           + " where " + std::to_string(wanted)
                                           + " are needed"};
}

void require_range(const char* what, std::span<const std::int32_t> values,
                   std::int64_t end) {
  for (const auto value : values)
    if (value < 0 || value >= end)
      throw failure{errc::invalid_request,
                    std::string{"a forward pass got the "} + what + " "
                      + std::to_string(value) + ", allowed are 0 to "
                      + std::to_string(end - 1)};
}

void require_offsets(std::span<const std::int32_t> offsets,
                     std::size_t num_rows) {
  if (offsets.empty() || offsets.front() != 0
      || static_cast<std::size_t>(offsets.back()) != num_rows
      || !std::is_sorted(offsets.begin(), offsets.end()))
    throw failure{errc::invalid_request,
                  "the offsets of packed sequences rise from 0 to the number "
                  "of rows, "
                    + std::to_string(num_rows) + "; these do not"};
}

/// Each prefix ends before its sequence begins.
void require_prefixes(const packed_sequences& packed) {
  if (packed.prefixes.empty())
    return;
  require_size("prefixes", packed.prefixes.size(), packed.offsets.size() - 1);
  for (std::size_t s = 0; s < packed.prefixes.size(); ++s) {
    const auto [begin, end] = packed.prefixes[s];
    if (begin < 0 || begin > end || end > packed.offsets[s])
      throw failure{errc::invalid_request,
                    "the prefix of packed sequence " + std::to_string(s)
                      + " is rows " + std::to_string(begin) + " to "
                      + std::to_string(end)
                      + ", which do not lie before its first row, "
                      + std::to_string(packed.offsets[s])};
  }
}

} // namespace

decoder::decoder(const decoder_config& config,
                 shard::parameter_factory& factory,
                 const module_registry& registry)
  : module("decoder"), config_(config) {
  const module_arguments top{config_, factory, registry, ""};
  model_ =
    add_child("model", std::make_shared<decoder_body>(below(top, "model")));
  if (!config_.tie_embeddings)
    head_ = add_child("lm_head", std::make_shared<linear_layer>(
                                   below(top, "lm_head"), config_.hidden_size,
                                   config_.vocab_size));
}

torch::Tensor decoder::hidden(std::span<const std::int32_t> ids,
                              const forward_context& context) {
  require_range("token id", ids, config_.vocab_size);
  require_size("positions", context.positions.size(), ids.size());
  require_range("position", context.positions, config_.max_positions);
  if (const auto* packed = std::get_if<packed_sequences>(&context.attention)) {
    require_offsets(packed->offsets, ids.size());
    require_prefixes(*packed);
  } else {
    const auto& cached = std::get<cached_rows>(context.attention);
    require_size("slots", cached.slots.size(), ids.size());
    require_size("cache layers", cached.layers.size(),
                 static_cast<std::size_t>(config_.num_layers));
  }
  // A tensor has no const memory; nothing writes to ids.
  const auto ids_T =
    torch::from_blob(const_cast<std::int32_t*>(ids.data()),
                     {static_cast<std::int64_t>(ids.size())}, torch::kInt32);
  return child(model_).forward(ids_T, context);
}

torch::Tensor decoder::lm_head_weight() const {
  if (head_)
    return child(*head_).parameters().front().value->tensor();
  return dynamic_cast<const decoder_body&>(child(model_)).embedding_weight();
}

torch::Tensor decoder::forward(const torch::Tensor& x,
                               const forward_context& context) {
  const std::span<const std::int32_t> ids{x.const_data_ptr<std::int32_t>(),
                                          static_cast<std::size_t>(x.numel())};
  const auto logits =
    linear(hidden(ids, context), lm_head_weight(), context.pool);
  const auto cap = config_.logit_softcap;
  return cap == 0 ? logits : cap * torch::tanh(logits / cap);
}

std::shared_ptr<decoder> make_decoder(const decoder_config& config,
                                      std::uint64_t seed,
                                      const module_registry& registry,
                                      shard::rank_group group) {
  shard::fresh_source source{seed};
  shard::sharding_context context{group, source};
  return std::make_shared<decoder>(config, context.factory(), registry);
}

} // namespace troupe::runtime::model
