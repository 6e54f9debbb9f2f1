// SPDX-License-Identifier: Apache-2.0
//
// Unicode normal forms of tokenizer.json, by ICU.
#pragma once

#include "runtime/tokenizer/tokenizer_spec.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::runtime::tokenizer {

/// Immutable. Thread: any.
class normalizer {
public:
  explicit normalizer(std::vector<normal_form> forms)
    : forms_(std::move(forms)) {}

  /// Applies the forms in their order to well-formed UTF-8.
  [[nodiscard]] std::string normalize(std::string_view text) const;

private:
  std::vector<normal_form> forms_;
};

} // namespace troupe::runtime::tokenizer
