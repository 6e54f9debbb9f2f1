// SPDX-License-Identifier: Apache-2.0
//
// Precompiled once for each target that uses LibTorch (docs/build.md has the
// seconds). Not to be included by hand.
#pragma once

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>
