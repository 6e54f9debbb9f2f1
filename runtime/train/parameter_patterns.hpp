// SPDX-License-Identifier: Apache-2.0
//
// Parameters by the patterns of a job, and the part of a decoder that a
// parameter belongs to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::train {

/// True if one of the patterns fits the whole name, as fnmatch(3) reads them:
/// "*" stands for anything, dots included.
bool fits_any(const std::vector<std::string>& patterns,
              const std::string& name);

/// Errors: model_mismatch for a pattern that fits none of the names; `key` is
/// where it was said.
void require_fits(const std::vector<std::string>& patterns,
                  const std::vector<std::string>& names,
                  const std::string& key);

/// Returns "attention", "mlp", "norm", "embedding", "lm_head" or "other".
std::string_view part_of_decoder(std::string_view name);

} // namespace troupe::runtime::train
