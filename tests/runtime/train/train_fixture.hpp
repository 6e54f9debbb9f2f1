// SPDX-License-Identifier: Apache-2.0
//
// A tiny decoder with its optimizer, groups to train on, and a way to see
// gradients: with beta1 = 0 the first moment is the gradient of the update.
#pragma once

#include "runtime/model/decoder.hpp"
#include "runtime/train/adamw_optimizer.hpp"
#include "runtime/train/trainer.hpp"

#include <torch/types.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe::runtime::train {

inline model::decoder_config tiny_config(bool tie_embeddings = true) {
  model::decoder_config c;
  c.vocab_size = 61;
  c.hidden_size = 48;
  c.intermediate_size = 80;
  c.num_layers = 2;
  c.num_heads = 6;
  c.num_kv_heads = 2;
  c.head_width = 8;
  c.max_positions = 96;
  c.initializer_range = 0.3; // logits that differ
  c.tie_embeddings = tie_embeddings;
  return c;
}

using named_tensors = std::map<std::string, torch::Tensor>;

/// A model that a test may train.
struct trainee {
  explicit trainee(std::uint64_t seed = 7, bool tie_embeddings = true)
    : decoder(model::make_decoder(tiny_config(tie_embeddings), seed,
                                  model::module_registry())),
      optimizer(parameters_of(*decoder), pool) {}

  static std::vector<std::shared_ptr<shard::parameter>>
  parameters_of(const model::decoder& d) {
    std::vector<std::shared_ptr<shard::parameter>> out;
    for (const auto& [name, p] : d.named_parameters())
      out.push_back(p);
    return out;
  }

  [[nodiscard]] named_tensors weights() const {
    named_tensors out;
    for (const auto& p : optimizer.parameters())
      out[p->name()] = p->tensor().detach().clone();
    return out;
  }

  /// Copies of the moments with this suffix: ".first" or ".second".
  [[nodiscard]] named_tensors moments(const std::string& suffix) const {
    named_tensors out;
    for (const auto& view : optimizer.state())
      if (view.name.ends_with(suffix)) {
        auto copy = torch::empty(view.shape, torch::kFloat32);
        std::memcpy(copy.mutable_data_ptr(), view.data, view.bytes);
        out[view.name.substr(0, view.name.size() - suffix.size())] = copy;
      }
    return out;
  }

  [[nodiscard]] named_tensors gradients() const { return moments(".first"); }

  kernels::thread_pool pool{2};
  std::shared_ptr<model::decoder> decoder;
  adamw_optimizer optimizer;
};

/// No clipping, no warm-up, and the gradient in the first moment.
inline config::train_block plain_settings() {
  config::train_block t;
  t.optimizer.beta1 = 0;
  t.optimizer.max_grad_norm = 0;
  return t;
}

inline bool same_bits(const named_tensors& a, const named_tensors& b) {
  if (a.size() != b.size())
    return false;
  for (const auto& [name, tensor] : a)
    if (std::memcmp(tensor.const_data_ptr(), b.at(name).const_data_ptr(),
                    static_cast<std::size_t>(tensor.nbytes()))
        != 0)
      return false;
  return true;
}

/// Returns the largest |a - b| / |b| over all tensors, by their norms.
inline double largest_difference(const named_tensors& a,
                                 const named_tensors& b) {
  double largest = a.size() == b.size() && !a.empty() ? 0 : INFINITY;
  for (const auto& [name, tensor] : a) {
    const auto expected = b.at(name).to(torch::kFloat64);
    const auto gap = (tensor.to(torch::kFloat64) - expected).norm();
    largest = std::max(largest, (gap / expected.norm()).item<double>());
  }
  return largest;
}

using group_list =
  std::vector<std::shared_ptr<const experience::rollout_group>>;

/// Two groups of three samples of 1 to 7 tokens. Their logprobs are made up:
/// around -4, so that ratios fall on both sides of the clip.
inline group_list made_up_groups() {
  group_list out;
  for (std::uint32_t g = 0; g < 2; ++g) {
    auto group = std::make_shared<experience::rollout_group>();
    group->id = {0, g, 0};
    for (std::uint32_t i = 0; i < 3 + 2 * g; ++i)
      group->prompt_ids.push_back(static_cast<std::int32_t>(5 + 7 * g + 3 * i));
    for (std::uint32_t s = 0; s < 3; ++s) {
      experience::sample sample;
      for (std::uint32_t i = 0; i < 1 + 3 * s - g * (s > 0 ? 1 : 0); ++i) {
        const auto mixed = 17 * i + 29 * s + 41 * g;
        sample.completion_ids.push_back(static_cast<std::int32_t>(mixed % 61));
        sample.rollout_logprobs.push_back(
          -4.0F + 0.05F * static_cast<float>(mixed % 23));
      }
      group->samples.push_back(std::move(sample));
    }
    out.push_back(std::move(group));
  }
  return out;
}

inline const std::vector<float> made_up_advantages{1.2F, -0.7F, -0.5F,
                                                   0.3F, -1.1F, 0.8F};

} // namespace troupe::runtime::train
