// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/loss_head.hpp"

#include "kernels/entropy_bonus.hpp"
#include "kernels/linear.hpp"
#include "kernels/soft_cap.hpp"
#include "kernels/softmax.hpp"
#include "runtime/model/tensor_view.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::runtime::train {

namespace {

using model::as_const_matrix;
using model::as_matrix;

/// The buffers of one chunk, made once for all chunks.
struct chunk_buffers {
  chunk_buffers(std::int64_t rows, std::int64_t width, std::int64_t vocabulary)
    : hidden(model::empty_matrix(rows, width)),
      logits(model::empty_matrix(rows, vocabulary)),
      log_sum_exp(static_cast<std::size_t>(rows)) {}

  torch::Tensor hidden, logits;
  std::vector<float> log_sum_exp;
};

kernels::matrix first_rows(const torch::Tensor& t, std::int64_t count) {
  auto view = as_matrix(t);
  view.rows = count;
  return view;
}

/// Gathers the chunk's hidden rows and computes its logits.
void compute_logits(const torch::Tensor& hidden, const torch::Tensor& weight,
                    std::span<const std::int32_t> rows, float softcap,
                    chunk_buffers& chunk, kernels::thread_pool& pool) {
  const auto from = as_const_matrix(hidden);
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto gathered = first_rows(chunk.hidden, count);
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(gathered.row(i), from.row(rows[static_cast<std::size_t>(i)]),
                static_cast<std::size_t>(from.cols) * sizeof(float));
  kernels::linear(gathered, as_const_matrix(weight), nullptr,
                  first_rows(chunk.logits, count), pool);
  if (softcap > 0)
    kernels::soft_cap(first_rows(chunk.logits, count), softcap, pool);
}

/// Tokens of the vocabulary whose part of a gradient is summed on its own. In
/// one sum over 49,152 of them SmolLM2's d loss / d hidden is off by 3e-5, and
/// gradients of its layers by 3e-4.
constexpr std::int64_t vocabulary_block = 1024;

/// total = logit_gradients weight, block by block of the vocabulary.
/// Numerics: the blocks' sums are added in rising order.
void hidden_gradient_of(kernels::const_matrix logit_gradients,
                        kernels::const_matrix weight, kernels::matrix part,
                        kernels::matrix total, kernels::thread_pool& pool) {
  for (std::int64_t v = 0; v < weight.rows; v += vocabulary_block) {
    const auto width = std::min(vocabulary_block, weight.rows - v);
    kernels::linear_grad_input(
      {logit_gradients.data + v, logit_gradients.rows, width,
       logit_gradients.stride},
      {weight.row(v), width, weight.cols, weight.stride}, v == 0 ? total : part,
      kernels::into::overwrite, pool);
    if (v == 0)
      continue;
    for (std::int64_t i = 0; i < total.rows; ++i)
      for (std::int64_t d = 0; d < total.cols; ++d)
        total.row(i)[d] += part.row(i)[d];
  }
}

/// Calls f(begin, rows, targets) for each chunk.
template <class F>
void each_chunk(const scored_rows& rows, std::int64_t chunk_tokens, F f) {
  const auto step = static_cast<std::size_t>(chunk_tokens);
  for (std::size_t begin = 0; begin < rows.rows.size(); begin += step) {
    const auto count = std::min(step, rows.rows.size() - begin);
    f(begin, rows.rows.subspan(begin, count),
      rows.targets.subspan(begin, count));
  }
}

std::int64_t chunk_rows(const scored_rows& rows, std::int64_t chunk_tokens) {
  return std::min(chunk_tokens, static_cast<std::int64_t>(rows.rows.size()));
}

} // namespace

std::vector<float> score(const torch::Tensor& hidden,
                         const torch::Tensor& weight, const scored_rows& rows,
                         const loss_head_settings& settings,
                         kernels::thread_pool& pool) {
  std::vector<float> logprobs(rows.rows.size());
  chunk_buffers chunk(chunk_rows(rows, settings.chunk_tokens), hidden.size(1),
                      weight.size(0));
  each_chunk(
    rows, settings.chunk_tokens,
    [&](std::size_t begin, auto chunk_of, auto targets) {
      compute_logits(hidden, weight, chunk_of, settings.softcap, chunk, pool);
      kernels::token_logprobs(
        first_rows(chunk.logits, static_cast<std::int64_t>(chunk_of.size())),
        targets, settings.temperature, logprobs.data() + begin, nullptr,
        nullptr, pool);
    });
  return logprobs;
}

torch::Tensor backward(const torch::Tensor& hidden, const torch::Tensor& weight,
                       const scored_rows& rows,
                       const loss_head_settings& settings,
                       const loss_function& loss, kernels::thread_pool& pool) {
  auto gradient = torch::zeros_like(hidden);
  if (weight.requires_grad() && !weight.grad().defined())
    weight.mutable_grad() = torch::zeros_like(weight.detach());
  const auto size = chunk_rows(rows, settings.chunk_tokens);
  chunk_buffers chunk(size, hidden.size(1), weight.size(0));
  const auto hidden_gradient = model::empty_matrix(size, hidden.size(1));
  const auto gradient_part = model::empty_matrix(size, hidden.size(1));
  std::vector<float> logprobs(static_cast<std::size_t>(size)),
    entropies(logprobs.size()), coefficients(logprobs.size());
  each_chunk(
    rows, settings.chunk_tokens,
    [&](std::size_t begin, auto chunk_of, auto targets) {
      const auto n = chunk_of.size();
      const auto count = static_cast<std::int64_t>(n);
      compute_logits(hidden, weight, chunk_of, settings.softcap, chunk, pool);
      const auto logits = first_rows(chunk.logits, count);
      kernels::token_logprobs(logits, targets, settings.temperature,
                              logprobs.data(), entropies.data(),
                              chunk.log_sum_exp.data(), pool);
      // The logits become their gradients, which the cap's slope needs them
      // for.
      torch::Tensor capped;
      if (settings.softcap > 0)
        capped = chunk.logits.slice(0, 0, count).clone();
      loss(begin, {logprobs.data(), n}, {entropies.data(), n},
           {coefficients.data(), n});
      if (settings.entropy_slopes.empty())
        kernels::token_logprobs_grad(logits, targets, settings.temperature,
                                     chunk.log_sum_exp.data(),
                                     coefficients.data(), pool);
      else
        kernels::token_objective_grad(
          logits, targets, settings.temperature, chunk.log_sum_exp.data(),
          entropies.data(),
          {coefficients.data(), settings.entropy_slopes.data() + begin}, pool);
      if (settings.softcap > 0)
        kernels::soft_cap_grad(as_const_matrix(capped), settings.softcap,
                               logits, pool);
      const auto of_hidden = first_rows(hidden_gradient, count);
      hidden_gradient_of(logits, as_const_matrix(weight),
                         first_rows(gradient_part, count), of_hidden, pool);
      if (weight.requires_grad())
        kernels::linear_grad_weight(logits, first_rows(chunk.hidden, count),
                                    as_matrix(weight.grad()), pool);
      const auto to = as_matrix(gradient);
      for (std::int64_t i = 0; i < count; ++i) {
        auto* row = to.row(chunk_of[static_cast<std::size_t>(i)]);
        for (std::int64_t d = 0; d < to.cols; ++d)
          row[d] += of_hidden.row(i)[d];
      }
    });
  return gradient;
}

} // namespace troupe::runtime::train
