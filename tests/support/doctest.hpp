// SPDX-License-Identifier: Apache-2.0
//
// doctest, included last: LibTorch defines CHECK, too, and the last one wins.
#pragma once
#ifdef CHECK
#undef CHECK
#endif
#include <doctest/doctest.h>
