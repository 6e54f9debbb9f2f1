// SPDX-License-Identifier: Apache-2.0
//
// A model that can be computed by hand: its hidden row is a hash over all that
// the cache holds up to the row's position, in both layers, so that a row that
// is missing, stale or another slot's gives other logits. expected_logits gives
// the same from the ids alone.
#pragma once

#include "runtime/rollout/rollout_model.hpp"

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace troupe::runtime::rollout {

class fake_rollout_model : public rollout_model {
public:
  static constexpr std::int64_t num_layers = 2, row_width = 3;

  std::int64_t vocab = 29, positions = 64;
  std::uint64_t weights = 1; ///< another number is another model
  /// Token that gets nearly all of the probability after these ids.
  std::function<std::optional<std::int32_t>(std::span<const std::int32_t>)>
    script;
  /// Called at the start of each forward pass.
  std::function<void(const forward_rows&)> on_forward;
  std::vector<std::int64_t> rows_per_forward;
  std::vector<std::int64_t> logit_rows;

  [[nodiscard]] std::int64_t vocab_size() const override { return vocab; }
  [[nodiscard]] std::int64_t hidden_size() const override { return 5; }
  [[nodiscard]] std::int64_t max_positions() const override {
    return positions;
  }

  void forward(const forward_rows& rows, const kv_cache_view& cache,
               kernels::matrix hidden) override {
    if (on_forward)
      on_forward(rows);
    rows_per_forward.push_back(static_cast<std::int64_t>(rows.ids.size()));
    for (std::size_t r = 0; r < rows.ids.size(); ++r)
      write_row(rows.ids[r], rows.positions[r], rows.slots[r], cache);
    for (std::size_t w = 0; w < rows.wanted.size(); ++w) {
      const auto r = static_cast<std::size_t>(rows.wanted[w]);
      fill_hidden(cache, rows.slots[r], rows.positions[r],
                  hidden.row(static_cast<std::int64_t>(w)));
    }
  }

  void logits(kernels::const_matrix hidden, kernels::matrix out) override {
    logit_rows.push_back(hidden.rows);
    for (std::int64_t r = 0; r < hidden.rows; ++r)
      fill_logits(hidden.row(r), out.row(r));
  }

  /// Returns the logits after `ids`, computed in a cache of their own.
  [[nodiscard]] std::vector<float>
  expected_logits(std::span<const std::int32_t> ids) const {
    const kv_cache_layout layout{
      num_layers, 1, static_cast<std::int64_t>(ids.size()), row_width};
    std::vector<float> memory(layout.num_bytes() / sizeof(float));
    const kv_cache_view cache{memory.data(), layout};
    for (std::size_t p = 0; p < ids.size(); ++p)
      write_row(ids[p], static_cast<std::int32_t>(p), 0, cache);
    std::vector<float> hidden(5), out(static_cast<std::size_t>(vocab));
    fill_hidden(cache, 0, static_cast<std::int32_t>(ids.size()) - 1,
                hidden.data());
    fill_logits(hidden.data(), out.data());
    return out;
  }

private:
  static std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15U; // Fibonacci hashing
    return h ^ (h >> 29);
  }

  void write_row(std::int32_t id, std::int32_t position, std::int32_t slot,
                 const kv_cache_view& cache) const {
    const auto own = mix(weights, static_cast<std::uint64_t>(id) << 20
                                    | static_cast<std::uint64_t>(position));
    auto seen = own;
    for (std::int32_t p = 0; p < position; ++p)
      seen = mix(seen, bits(cache.keys(0, slot, p)));
    for (std::int64_t l = 0; l < num_layers; ++l) {
      auto* k = cache.keys(l, slot, position);
      auto* v = cache.values(l, slot, position);
      k[0] = static_cast<float>(id);
      for (int i = 1; i < row_width; ++i)
        k[i] = static_cast<float>(own >> (20 * i) & 0xffff);
      for (int i = 0; i < row_width; ++i) // the second layer sees the prefix
        v[i] = static_cast<float>((l == 0 ? own : seen) >> (9 * i) & 0xffff);
    }
  }

  static std::uint64_t bits(const float* row) {
    std::uint64_t h = 7;
    for (int i = 0; i < row_width; ++i)
      h = mix(h, std::bit_cast<std::uint32_t>(row[i]));
    return h;
  }

  void fill_hidden(const kv_cache_view& cache, std::int32_t slot,
                   std::int32_t position, float* hidden) const {
    std::uint64_t h = weights;
    std::vector<std::int32_t> ids;
    for (std::int32_t p = 0; p <= position; ++p) {
      for (std::int64_t l = 0; l < num_layers; ++l)
        h = mix(mix(h, bits(cache.keys(l, slot, p))),
                bits(cache.values(l, slot, p)));
      ids.push_back(static_cast<std::int32_t>(cache.keys(0, slot, p)[0]));
    }
    for (int i = 0; i < 4; ++i)
      hidden[i] = static_cast<float>(h >> (16 * i) & 0xffff);
    const auto forced = script ? script(ids) : std::nullopt;
    hidden[4] = static_cast<float>(forced.value_or(-1));
  }

  void fill_logits(const float* hidden, float* logits) const {
    for (std::int64_t v = 0; v < vocab; ++v) {
      auto h = static_cast<std::uint64_t>(v) + 1;
      for (int i = 0; i < 4; ++i)
        h = mix(h, static_cast<std::uint64_t>(hidden[i]));
      logits[v] = static_cast<float>(h >> 40 & 0xffff) / 16384.0F
                  + (static_cast<float>(v) == hidden[4] ? 50.0F : 0.0F);
    }
  }
};

/// A cache whose memory begins as what no row has: reading it changes logits.
class fake_cache {
public:
  explicit fake_cache(std::int64_t num_slots, std::int64_t capacity = 48)
    : layout_{fake_rollout_model::num_layers, num_slots, capacity,
              fake_rollout_model::row_width},
      memory_(layout_.num_bytes() / sizeof(float), poison()) {}

  [[nodiscard]] kv_cache_view view() { return {memory_.data(), layout_}; }

  static constexpr float poison() { return 12345678.0F; }

private:
  kv_cache_layout layout_;
  std::vector<float> memory_;
};

} // namespace troupe::runtime::rollout
