// SPDX-License-Identifier: Apache-2.0
//
// Draws the next tokens of a step's rows of logits, each with the settings and
// the random number of its own sample.
#pragma once

#include "kernels/sampling.hpp"
#include "kernels/thread_pool.hpp"
#include "kernels/view.hpp"
#include "runtime/rollout/rollout_request.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace troupe::runtime::rollout {

/// Whose token a row of logits gives.
struct sampling_row {
  const rollout_request* request = nullptr;
  std::uint32_t sample_index = 0;
  std::uint32_t position = 0; ///< completion tokens before this one
};

class sampler {
public:
  sampler(std::uint64_t job_seed, std::int64_t max_rows,
          std::int64_t vocab_size);

  /// Shapes: logits [S, V], rows [S] -> tokens [S]. Before min_new_tokens stop
  /// ids are not drawn: filtered_logprob is of what remains, logprob of all.
  /// Logits are the same afterwards.
  void draw(kernels::matrix logits, std::span<const sampling_row> rows,
            std::span<kernels::sampled_token> tokens,
            kernels::thread_pool& pool);

private:
  std::uint64_t job_seed_;
  std::int64_t vocab_size_;
  std::unique_ptr<float[]> scratch_; // [max_rows, V]; touched once a thread
};

} // namespace troupe::runtime::rollout
