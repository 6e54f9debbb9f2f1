// SPDX-License-Identifier: Apache-2.0
#include "kernels/instruction_set.hpp"

#include "hwy/highway.h"
#include "hwy/targets.h"

namespace troupe::kernels {

namespace {

std::int64_t mask_of(instruction_set set) {
  switch (set) {
  case instruction_set::avx2: return HWY_AVX2;
  case instruction_set::avx512: return HWY_AVX3;
  case instruction_set::neon: return HWY_NEON;
  case instruction_set::portable: break;
  }
  return HWY_SCALAR | HWY_EMU128;
}

} // namespace

std::vector<instruction_set> instruction_sets() {
  std::vector<instruction_set> found;
  const std::int64_t runnable =
    HWY_TARGETS
    & (hwy::SupportedTargets() | mask_of(instruction_set::portable));
  for (const auto set : {instruction_set::portable, instruction_set::neon,
                         instruction_set::avx2, instruction_set::avx512})
    if ((runnable & mask_of(set)) != 0)
      found.push_back(set);
  return found;
}

void use_instruction_set(std::optional<instruction_set> forced) {
  hwy::GetChosenTarget().Update(forced ? mask_of(*forced)
                                       : hwy::SupportedTargets());
}

const char* name(instruction_set set) {
  switch (set) {
  case instruction_set::avx2: return "avx2";
  case instruction_set::avx512: return "avx512";
  case instruction_set::neon: return "neon";
  case instruction_set::portable: break;
  }
  return "portable";
}

} // namespace troupe::kernels
