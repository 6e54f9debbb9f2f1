// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/parameter_patterns.hpp"

#include "protocols/failure.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <utility>

namespace troupe::runtime::train {

namespace {

bool fits(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

/// In the order in which they count: a norm within the attention is a norm.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> parts{
  {{"norm", "norm"},
   {"ln_", "norm"}, // GPT-2's
   {"attn", "attention"},
   {"attention", "attention"},
   {"mlp", "mlp"},
   {"lm_head", "lm_head"},
   {"embed", "embedding"},
   {"wte", "embedding"}}};

} // namespace

bool fits_any(const std::vector<std::string>& patterns,
              const std::string& name) {
  return std::ranges::any_of(
    patterns, [&](const auto& pattern) { return fits(pattern, name); });
}

void require_fits(const std::vector<std::string>& patterns,
                  const std::vector<std::string>& names,
                  const std::string& key) {
  for (const auto& pattern : patterns)
    if (std::ranges::none_of(
          names, [&](const auto& name) { return fits(pattern, name); }))
      throw protocols::failure(
        protocols::errc::model_mismatch,
        key + " has \"" + pattern + "\", which fits none of the model's "
          + std::to_string(names.size()) + " parameters, " + names.front()
          + " to " + names.back() + "; allowed: patterns of the shell");
}

std::string_view part_of_decoder(std::string_view name) {
  for (const auto& [piece, part] : parts)
    if (name.find(piece) != std::string_view::npos)
      return part;
  return "other";
}

} // namespace troupe::runtime::train
