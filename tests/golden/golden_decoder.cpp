// SPDX-License-Identifier: Apache-2.0
//
// Holds the decoder against what decoder_reference.py wrote into a folder:
//
//   golden_decoder FOLDER
//
// Prints each difference beside its limit, and the seconds of a forward and
// backward pass; exits 1 if a limit is passed. Writes FOLDER/saved.
#include "kernels/linear.hpp"
#include "kernels/soft_cap.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/model/decoder_files.hpp"
#include "runtime/model/tensor_view.hpp"
#include "runtime/train/loss_head.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using runtime::checkpoint::safetensors_reader;
namespace model = runtime::model;
using ids = std::vector<std::int32_t>;

constexpr double max_logit_difference = 1e-4;
constexpr double max_last_logit_difference = 2e-4; // of a real model
constexpr double max_gradient_difference = 1e-4;   // by norm, relative

int failures = 0;

void report(const char* what, double found, double limit) {
  const bool is_within = found <= limit; // false for NaN
  failures += is_within ? 0 : 1;
  std::printf("%-40s %.3e, limit %.0e%s\n", what, found, limit,
              is_within ? "" : "  FAILED");
}

ids ids_of(const safetensors_reader& file, const char* name) {
  const auto& found = file.at(name);
  const auto* data = reinterpret_cast<const std::int32_t*>(found.data);
  return {data, data + found.num_elements()};
}

torch::Tensor floats_of(const safetensors_reader& file,
                        const std::string& name) {
  const auto& found = file.at(name);
  return torch::from_blob(const_cast<std::byte*>(found.data), found.shape,
                          torch::kFloat32);
}

/// Sequences below each other, with what a forward pass needs.
struct packed {
  ids offsets{0}, positions;

  explicit packed(const ids& lengths) {
    for (const auto length : lengths) {
      for (std::int32_t at = 0; at < length; ++at)
        positions.push_back(at);
      offsets.push_back(offsets.back() + length);
    }
  }

  [[nodiscard]] model::forward_context
  context(kernels::thread_pool& pool) const {
    return {pool, positions, model::packed_sequences{offsets}};
  }
};

torch::Tensor logits_of(const torch::Tensor& hidden, model::decoder& decoder,
                        kernels::thread_pool& pool) {
  const auto head = decoder.lm_head_weight();
  auto logits = model::empty_matrix(hidden.size(0), head.size(0));
  kernels::linear(model::as_const_matrix(hidden), model::as_const_matrix(head),
                  nullptr, model::as_matrix(logits), pool);
  if (const auto cap = decoder.config().logit_softcap; cap > 0)
    kernels::soft_cap(model::as_matrix(logits), static_cast<float>(cap), pool);
  return logits;
}

void compare_logits(const safetensors_reader& reference,
                    model::decoder& decoder, kernels::thread_pool& pool) {
  const at::NoGradGuard no_grad;
  const packed prompts{ids_of(reference, "lengths")};
  const auto hidden =
    decoder.hidden(ids_of(reference, "ids"), prompts.context(pool));
  const auto rows = torch::tensor(ids_of(reference, "rows"), torch::kInt32);
  const auto logits = logits_of(hidden.index_select(0, rows), decoder, pool);
  const bool are_all = logits.size(0) == hidden.size(0);
  report("logits, largest difference",
         (logits - floats_of(reference, "logits")).abs().max().item<double>(),
         are_all ? max_logit_difference : max_last_logit_difference);
}

/// Continues a prompt over a cache of one slot; returns how many tokens differ.
int num_greedy_differences(std::span<const std::int32_t> wanted,
                           std::size_t num_prompt, model::decoder& decoder,
                           kernels::thread_pool& pool) {
  const auto& config = decoder.config();
  const auto row = config.num_kv_heads * config.head_width;
  const auto layer = row * static_cast<std::int64_t>(wanted.size());
  std::vector<float> memory(
    static_cast<std::size_t>(2 * layer * config.num_layers));
  std::vector<model::layer_cache> layers;
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    auto* keys = memory.data() + 2 * layer * i;
    layers.push_back({keys, keys + layer});
  }
  ids tokens(wanted.begin(),
             wanted.begin() + static_cast<std::ptrdiff_t>(num_prompt));
  int differences = 0;
  for (std::size_t from = 0, end = num_prompt; end < wanted.size(); ++end) {
    const ids fresh(tokens.begin() + static_cast<std::ptrdiff_t>(from),
                    tokens.end());
    ids positions(fresh.size());
    std::iota(positions.begin(), positions.end(),
              static_cast<std::int32_t>(from));
    const ids slots(fresh.size(), 0);
    const auto hidden = decoder.hidden(
      fresh, {pool, positions, model::cached_rows{slots, layers, layer, row}});
    const auto next =
      logits_of(hidden.slice(0, hidden.size(0) - 1), decoder, pool)
        .argmax()
        .item<std::int64_t>();
    tokens.push_back(static_cast<std::int32_t>(next));
    differences += tokens.back() == wanted[end] ? 0 : 1;
    from = end;
  }
  return differences;
}

void compare_greedy(const safetensors_reader& reference,
                    model::decoder& decoder, kernels::thread_pool& pool) {
  const at::NoGradGuard no_grad;
  const auto continued = ids_of(reference, "continued");
  const std::span<const std::int32_t> all{continued};
  std::size_t begin = 0;
  int differences = 0;
  for (const auto length : ids_of(reference, "continued_lengths")) {
    const auto size = static_cast<std::size_t>(length);
    differences += num_greedy_differences(all.subspan(begin, size), size - 64,
                                          decoder, pool);
    begin += size;
  }
  report("greedy continuations, tokens that differ", differences, 0);
}

/// Mean loss of the labelled tokens, and its gradients.
double backward(const ids& tokens, const ids& labels, const ids& lengths,
                model::decoder& decoder, kernels::thread_pool& pool) {
  const packed sequences{lengths};
  ids rows, targets;
  for (std::size_t t = 0; t + 1 < tokens.size(); ++t)
    if (sequences.positions[t + 1] != 0 && labels[t + 1] >= 0) {
      rows.push_back(static_cast<std::int32_t>(t));
      targets.push_back(labels[t + 1]);
    }
  const auto hidden = decoder.hidden(tokens, sequences.context(pool));
  double sum = 0;
  const auto gradient = runtime::train::backward(
    hidden.detach(), decoder.lm_head_weight(), {rows, targets},
    {.softcap = static_cast<float>(decoder.config().logit_softcap)},
    [&](std::size_t, std::span<const float> logprobs, std::span<const float>,
        std::span<float> coefficients) {
      for (const auto logprob : logprobs)
        sum -= static_cast<double>(logprob);
      std::fill(coefficients.begin(), coefficients.end(),
                -1 / static_cast<float>(rows.size()));
    },
    pool);
  hidden.backward(gradient);
  return sum / static_cast<double>(rows.size());
}

void compare_gradients(const safetensors_reader& reference,
                       const safetensors_reader& gradients,
                       model::decoder& decoder, kernels::thread_pool& pool) {
  const auto tokens = ids_of(reference, "sft_ids");
  const auto labels = ids_of(reference, "sft_labels");
  double loss = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (const auto& held : decoder.named_parameters())
      if (held.value->tensor().grad().defined())
        held.value->tensor().grad().zero_();
    const auto start = std::chrono::steady_clock::now();
    const auto processor_start = std::clock();
    loss =
      backward(tokens, labels, ids_of(reference, "sft_lengths"), decoder, pool);
    const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
    std::printf("troupe: forward and backward of %zu tokens on %d threads: "
                "%.3f s, of processors %.3f s\n",
                tokens.size(), pool.num_threads(), seconds.count(),
                static_cast<double>(std::clock() - processor_start)
                  / CLOCKS_PER_SEC);
  }
  const auto wanted_loss = floats_of(reference, "sft_loss").item<double>();
  report("SFT loss, relative difference",
         std::abs(loss - wanted_loss) / wanted_loss, 1e-5);
  std::vector<model::file_tensor> own;
  for (const auto& held : decoder.named_parameters())
    own.push_back({held.name, held.value->tensor().grad()});
  const auto found = model::to_file_tensors(decoder.config(), own);
  report("tensors without a reference",
         static_cast<double>(gradients.tensors().size() - found.size()), 0);
  double largest = 0;
  for (const auto& [name, gradient] : found) {
    const auto wanted = floats_of(gradients, name);
    // A gradient that is 0 but for rounding, as of a bias of keys, is held
    // against the others' size.
    const auto size = std::max(wanted.norm().item<double>(), 1e-3);
    const auto difference = (gradient - wanted).norm().item<double>() / size;
    if (!(difference <= max_gradient_difference))
      report(name.c_str(), difference, max_gradient_difference);
    largest = std::max(largest, difference);
  }
  report("SFT gradients, largest difference of one", largest,
         max_gradient_difference);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: golden_decoder FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder{argv[1]};
  kernels::thread_pool pool{2};
  const auto decoder =
    model::load_decoder(folder / "model", model::module_registry{});
  const auto reference =
    safetensors_reader::open(folder / "reference.safetensors");
  compare_logits(reference, *decoder, pool);
  compare_greedy(reference, *decoder, pool);
  compare_gradients(reference,
                    safetensors_reader::open(folder / "gradients.safetensors"),
                    *decoder, pool);
  model::save_decoder(*decoder, folder / "saved", folder / "model");
  return failures == 0 ? 0 : 1;
}
