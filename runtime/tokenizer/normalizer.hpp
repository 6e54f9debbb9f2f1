// SPDX-License-Identifier: Apache-2.0
//
// The normalizers of tokenizer.json, in their order.
#pragma once

#include "runtime/tokenizer/aligned_text.hpp"
#include "runtime/tokenizer/pattern.hpp"
#include "runtime/tokenizer/tokenizer_steps.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::tokenizer {

/// Immutable. Thread: any.
class normalizer {
public:
  /// Errors: tokenizer_unsupported (a regular expression, see pattern.hpp).
  normalizer(const std::vector<normalizer_step>& steps,
             const std::filesystem::path& file);

  [[nodiscard]] bool is_identity() const { return steps_.empty(); }

  /// Applies the steps to well-formed UTF-8.
  [[nodiscard]] aligned_text normalize(aligned_text text) const;

  [[nodiscard]] std::string normalize(std::string_view text) const;

private:
  struct built_step {
    normalizer_step spec;
    std::optional<match_finder> matches; ///< of a replace_step
  };
  std::vector<built_step> steps_;
};

} // namespace troupe::runtime::tokenizer
