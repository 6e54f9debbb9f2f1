// SPDX-License-Identifier: Apache-2.0
//
// What a training step holds beside weights, gradients and moments. No
// LibTorch: the plan of a job is made from its file.
#pragma once

#include "runtime/config/job_config.hpp"
#include "runtime/model/decoder_config.hpp"

#include <cstdint>

namespace troupe::runtime::train {

/// Returns the bytes that the largest microbatch of the job keeps from forward
/// to backward, with the logits of one chunk. Of the built-in modules; a
/// plug-in's own are not known.
std::int64_t activation_bytes(const model::decoder_config& shape,
                              const config::job_config& job);

} // namespace troupe::runtime::train
