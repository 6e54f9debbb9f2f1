// SPDX-License-Identifier: Apache-2.0
#include "runtime/rollout/sampler.hpp"

#include "kernels/softmax.hpp"

#include <limits>
#include <vector>

namespace troupe::runtime::rollout {

namespace {

using kernels::sampled_token;

/// Draws without the stop ids. Their logits come back in reverse order, so that
/// an id that is listed twice keeps its value, too.
sampled_token draw_unstopped(std::span<float> logits,
                             const std::vector<std::int32_t>& stop_ids,
                             const kernels::sampling_settings& settings,
                             double uniform, std::span<float> scratch) {
  std::vector<float> kept(stop_ids.size());
  for (std::size_t i = 0; i < stop_ids.size(); ++i) {
    auto& logit = logits[static_cast<std::size_t>(stop_ids[i])];
    kept[i] = logit;
    logit = -std::numeric_limits<float>::infinity();
  }
  auto token = kernels::sample_token(logits, settings, uniform, scratch);
  for (std::size_t i = stop_ids.size(); i-- > 0;)
    logits[static_cast<std::size_t>(stop_ids[i])] = kept[i];
  // The trainer knows no masked ids: logprob is of all logits.
  kernels::thread_pool own_thread(1);
  const kernels::const_matrix row(logits.data(), 1,
                                  static_cast<std::int64_t>(logits.size()));
  kernels::token_logprobs(
    row, {&token.id, 1}, settings.temperature > 0 ? settings.temperature : 1.0F,
    &token.logprob, nullptr, nullptr, own_thread);
  return token;
}

} // namespace

sampler::sampler(std::uint64_t job_seed, std::int64_t max_rows,
                 std::int64_t vocab_size)
  : job_seed_(job_seed), vocab_size_(vocab_size),
    scratch_(new float[static_cast<std::size_t>(max_rows * vocab_size)]) {}

void sampler::draw(kernels::matrix logits, std::span<const sampling_row> rows,
                   std::span<sampled_token> tokens,
                   kernels::thread_pool& pool) {
  const auto width = static_cast<std::size_t>(vocab_size_);
  const auto draw_range = [&](std::int64_t begin, std::int64_t end) {
    const std::span<float> scratch(
      scratch_.get() + static_cast<std::size_t>(begin) * width, width);
    for (auto r = begin; r < end; ++r) {
      const auto& row = rows[static_cast<std::size_t>(r)];
      const auto& s = row.request->sampling;
      const kernels::sampling_settings settings{s.temperature, s.top_k,
                                                s.top_p};
      const auto uniform = kernels::uniform(coordinates_of(
        *row.request, job_seed_, row.sample_index, row.position));
      const std::span<float> row_logits(logits.row(r), width);
      const bool may_stop =
        s.stop_ids.empty()
        || static_cast<std::int64_t>(row.position) >= s.min_new_tokens;
      tokens[static_cast<std::size_t>(r)] =
        may_stop
          ? kernels::sample_token(row_logits, settings, uniform, scratch)
          : draw_unstopped(row_logits, s.stop_ids, settings, uniform, scratch);
    }
  };
  pool.parallel_for(static_cast<std::int64_t>(rows.size()), 1, draw_range);
}

} // namespace troupe::runtime::rollout
