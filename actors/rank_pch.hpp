// SPDX-License-Identifier: Apache-2.0
//
// Precompiled once for troupe_actors_rank. Not to be included by hand.
#pragma once

#include "actors/control_pch.hpp"
#include "runtime/torch_pch.hpp"
