// SPDX-License-Identifier: Apache-2.0
//
// Which of the compiled variants of the kernels runs. All give the same bits
// (DESIGN section 9a); tests force each in turn to prove it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe::kernels {

enum class instruction_set : std::uint8_t { portable, avx2, avx512, neon };

/// Returns those that this CPU can run; the last is the fastest.
std::vector<instruction_set> instruction_sets();

/// Runs all kernels with `forced` from now on; nullopt: the fastest again.
/// Thread: any, while no kernel runs.
void use_instruction_set(std::optional<instruction_set> forced);

/// "portable", "avx2", "avx512" or "neon".
const char* name(instruction_set set);

} // namespace troupe::kernels
