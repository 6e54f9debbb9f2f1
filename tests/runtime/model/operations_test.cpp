// SPDX-License-Identifier: Apache-2.0
//
// Values and gradients against LibTorch's own operations, in double.
#include "runtime/model/operations.hpp"

#include <cmath>
#include <functional>

#include "tests/support/doctest.hpp"

using torch::Tensor;
namespace model = troupe::runtime::model;

namespace {

troupe::kernels::thread_pool& pool() {
  static troupe::kernels::thread_pool shared{2};
  return shared;
}

Tensor random(at::IntArrayRef shape, std::uint64_t seed) {
  torch::manual_seed(seed);
  return torch::randn(shape).requires_grad_();
}

using operation = std::function<Tensor(const std::vector<Tensor>&)>;

/// Holds value and gradients of `tried`, in float, against `reference`, in
/// double, and the value against that without gradients, to the bit.
void compare(std::vector<Tensor> inputs, const operation& tried,
             const operation& reference) {
  std::vector<Tensor> exact;
  for (const auto& input : inputs)
    exact.push_back(input.detach().to(torch::kFloat64).requires_grad_());
  const auto found = tried(inputs), wanted = reference(exact);
  CHECK((found - wanted).abs().max().item<double>() < 2e-5);

  torch::manual_seed(99);
  const auto direction = torch::randn(found.sizes());
  found.backward(direction);
  wanted.backward(direction.to(torch::kFloat64));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(i);
    const auto scale = exact[i].grad().norm().item<double>();
    CHECK((inputs[i].grad() - exact[i].grad()).norm().item<double>()
          < 2e-6 * scale);
  }
  const at::NoGradGuard no_grad;
  CHECK(torch::equal(tried(inputs), found));
}

Tensor rotated(const Tensor& x, std::int64_t heads,
               const std::vector<std::int32_t>& positions, double theta) {
  const auto T = x.size(0), E = x.size(1) / heads;
  const auto at_T = torch::tensor(positions, torch::kFloat64);
  const auto frequency_E =
    torch::pow(theta, -torch::arange(0, E, 2, torch::kFloat64) / E);
  const auto angle_TE = torch::outer(at_T, frequency_E).repeat({1, 2});
  const auto x_THE = x.view({T, heads, E});
  const auto halves = x_THE.chunk(2, -1);
  const auto turned = torch::cat({-halves[1], halves[0]}, -1);
  return x_THE * angle_TE.cos().unsqueeze(1)
         + turned * angle_TE.sin().unsqueeze(1);
}

} // namespace

TEST_SUITE("runtime.model.operations") {

  TEST_CASE("linear is x weight^T with its gradients") {
    compare(
      {random({7, 33}, 1), random({20, 33}, 2)},
      [](const auto& in) { return model::linear(in[0], in[1], pool()); },
      [](const auto& in) { return in[0].matmul(in[1].t()); });
  }

  TEST_CASE("rms_norm is the root mean square norm with its gradients") {
    compare(
      {random({5, 24}, 1), random({24}, 2)},
      [](const auto& in) {
        return model::rms_norm(in[0], in[1], 1e-5, pool());
      },
      [](const auto& in) {
        return in[0] * torch::rsqrt(in[0].square().mean(-1, true) + 1e-5)
               * in[1];
      });
  }

  TEST_CASE("linear with a bias has the bias's gradient") {
    compare(
      {random({7, 33}, 1), random({20, 33}, 2), random({20}, 3)},
      [](const auto& in) { return model::linear(in[0], in[1], pool(), in[2]); },
      [](const auto& in) { return in[0].matmul(in[1].t()) + in[2]; });
  }

  TEST_CASE("rms_norm takes several heads in a row and an offset") {
    compare(
      {random({5, 24}, 1), random({8}, 2)},
      [](const auto& in) {
        return model::rms_norm(in[0], in[1], 1e-5, pool(), 1);
      },
      [](const auto& in) {
        const auto x = in[0].view({5, 3, 8});
        return (x * torch::rsqrt(x.square().mean(-1, true) + 1e-5)
                * (1 + in[1]))
          .view({5, 24});
      });
  }

  TEST_CASE("layer_norm is LibTorch's with its gradients") {
    compare(
      {random({5, 24}, 1), random({24}, 2), random({24}, 3)},
      [](const auto& in) {
        return model::layer_norm(in[0], in[1], in[2], 1e-5, pool());
      },
      [](const auto& in) {
        return torch::layer_norm(in[0], {24}, in[1], in[2], 1e-5);
      });
  }

  TEST_CASE("gated is silu(gate) up with its gradients") {
    compare(
      {random({5, 40}, 1), random({5, 40}, 2)},
      [](const auto& in) {
        return model::gated(in[0], in[1], troupe::kernels::activation::silu,
                            pool());
      },
      [](const auto& in) { return torch::silu(in[0]) * in[1]; });
  }

  TEST_CASE("activate is LibTorch's gelu with its gradients") {
    compare(
      {random({5, 40}, 1)},
      [](const auto& in) {
        return model::activate(in[0], troupe::kernels::activation::gelu,
                               pool());
      },
      [](const auto& in) { return torch::gelu(in[0]); });
    compare(
      {random({5, 40}, 1)},
      [](const auto& in) {
        return model::activate(in[0], troupe::kernels::activation::gelu_tanh,
                               pool());
      },
      [](const auto& in) { return torch::gelu(in[0], "tanh"); });
  }

  TEST_CASE("embedding adds the gradients of an id that comes twice") {
    const std::vector<std::int32_t> ids{3, 0, 3};
    const auto ids_T = torch::tensor(ids, torch::kInt32);
    compare(
      {random({5, 8}, 1)},
      [&](const auto& in) { return model::embedding(ids_T, in[0]); },
      [&](const auto& in) { return in[0].index_select(0, ids_T); });
    compare(
      {random({5, 8}, 1)},
      [&](const auto& in) { return model::embedding(ids_T, in[0], 3); },
      [&](const auto& in) { return 3 * in[0].index_select(0, ids_T); });
  }

  TEST_CASE("add_residual is a sum") {
    compare(
      {random({3, 8}, 1), random({3, 8}, 2)},
      [](const auto& in) {
        const bool records = at::GradMode::is_enabled();
        return model::add_residual(in[0], records ? in[1] : in[1].clone());
      },
      [](const auto& in) { return in[0] + in[1]; });
  }

  TEST_CASE("rotary_attention attends within each sequence, heads grouped") {
    // Two sequences of 5 and 3 rows; the second starts at position 4.
    const std::vector<std::int32_t> offsets{0, 5, 8};
    const std::vector<std::int32_t> positions{0, 1, 2, 3, 4, 4, 5, 6};
    const std::int64_t H = 4, K = 2, E = 8;
    const model::attention_heads heads{
      H, K, E, 0,
      std::make_shared<const troupe::kernels::rotary_table>(
        troupe::kernels::make_rotary_table(16, E, 10000))};
    compare(
      {random({8, H * E}, 1), random({8, K * E}, 2), random({8, K * E}, 3)},
      [&](const auto& in) {
        // Rotation is in place: not on the test's leaves.
        return model::rotary_attention(
          in[0].clone(), in[1].clone(), in[2].clone(), heads,
          {pool(), positions, model::packed_sequences{offsets}});
      },
      [&](const auto& in) {
        const auto q = rotated(in[0], H, positions, 10000);
        const auto k =
          rotated(in[1], K, positions, 10000).repeat_interleave(H / K, 1);
        const auto v = in[2].view({8, K, E}).repeat_interleave(H / K, 1);
        auto mask = torch::full({8, 8}, -INFINITY, torch::kFloat64);
        for (std::int64_t s = 0; s < 2; ++s)
          for (std::int64_t t = offsets[s]; t < offsets[s + 1]; ++t)
            mask[t].slice(0, offsets[s], t + 1).zero_();
        const auto scores_HTT =
          torch::einsum("qhe,khe->hqk", {q, k}) / std::sqrt(8.0) + mask;
        return torch::einsum("hqk,khe->qhe", {scores_HTT.softmax(-1), v})
          .reshape({8, H * E});
      });
  }

  TEST_CASE("rotary_attention sees a prefix that sequences share") {
    // A sequence of 4 rows; two more of 2 and 1 rows that continue its first
    // 3; and one of its own.
    const std::vector<std::int32_t> offsets{0, 4, 6, 7, 9};
    const std::vector<model::row_range> prefixes{{}, {0, 3}, {0, 3}, {}};
    const std::vector<std::int32_t> positions{0, 1, 2, 3, 3, 4, 3, 0, 1};
    const std::vector<std::vector<std::int64_t>> seen{
      {0},          {0, 1},       {0, 1, 2},
      {0, 1, 2, 3}, {0, 1, 2, 4}, {0, 1, 2, 4, 5},
      {0, 1, 2, 6}, {7},          {7, 8}};
    const std::int64_t H = 4, K = 2, E = 8, T = 9;
    const model::attention_heads heads{
      H, K, E, 0,
      std::make_shared<const troupe::kernels::rotary_table>(
        troupe::kernels::make_rotary_table(16, E, 10000))};
    compare(
      {random({T, H * E}, 1), random({T, K * E}, 2), random({T, K * E}, 3)},
      [&](const auto& in) {
        return model::rotary_attention(
          in[0].clone(), in[1].clone(), in[2].clone(), heads,
          {pool(), positions, model::packed_sequences{offsets, prefixes}});
      },
      [&](const auto& in) {
        const auto q = rotated(in[0], H, positions, 10000);
        const auto k =
          rotated(in[1], K, positions, 10000).repeat_interleave(H / K, 1);
        const auto v = in[2].view({T, K, E}).repeat_interleave(H / K, 1);
        auto mask = torch::full({T, T}, -INFINITY, torch::kFloat64);
        for (std::int64_t t = 0; t < T; ++t)
          for (const auto key : seen[static_cast<std::size_t>(t)])
            mask[t][key] = 0;
        const auto scores_HTT =
          torch::einsum("qhe,khe->hqk", {q, k}) / std::sqrt(8.0) + mask;
        return torch::einsum("hqk,khe->qhe", {scores_HTT.softmax(-1), v})
          .reshape({T, H * E});
      });
  }

  TEST_CASE("gradients of a weight add up over several graphs") {
    const auto x = random({3, 4}, 1), weight = random({5, 4}, 2);
    model::linear(x, weight, pool()).sum().backward();
    const auto once = weight.grad().clone();
    model::linear(x, weight, pool()).sum().backward();
    CHECK(torch::allclose(weight.grad(), 2 * once));
  }

} // TEST_SUITE
